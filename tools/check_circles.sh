#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Finds circles in src/, cli/ and python/sley/: groups of more than 2 files of which each needs every other, be it by way of
# others.
#   1 by includes: a file needs the headers it includes; a Python file needs those it imports, also inside functions
#   2 by calls: a file of C needs those that define the functions it calls (what a header defines is inline: see 1)
# NAME.h and NAME.c (.cu, .cuh) of a folder count as one file. Calls through function pointers do not count, and so neither
# do names in a table of operations. Prints the files of every circle, and which needs which why.
# Usage: tools/check_circles.sh [root of the project]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"

find src cli python/sley -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' \) 2>/dev/null |
  sort | xargs awk "$(cat "$tools/code.awk")"'
  # The file without src/ and its ending.
  function stem(path) {
    sub(/^src\//, "", path)
    sub(/\.[a-z]+$/, "", path)
    return path
  }
  function note_include(path) {
    includer_of[++includes] = me
    included[includes] = stem(path)
  }
  # Names before a parenthesis; a member, as in a->call(), is a pointer, and main is not called.
  function note_calls(rest,   name, before) {
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
      name = substr(rest, RSTART, RLENGTH - 1)
      before = substr(rest, 1, RSTART - 1)
      rest = substr(rest, RSTART + RLENGTH)
      sub(/[ \t]*$/, "", name)
      if (name != "main" && before !~ /(\.|->)[ \t]*$/ && !((me, name) in calls)) {
        calls[me, name]
        caller_of[++called] = me
        call_of[called] = name
      }
    }
  }
  FNR == 1 { me = stem(FILENAME); known[me] }
  FILENAME ~ /\.py$/ {
    for (i = read_import($0); i > 0; i--)
      note_include(imported[i])
    next
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ && !in_comment {
    split($0, quoted, "\"")
    note_include(quoted[2])
    next
  }
  {
    code = code_of($0)
    read_declaration(code)
    if (defined != "" && is_function) definer[defined, ++definers[defined]] = me
    if (code !~ /^[A-Za-z_#]/) # at the margin functions are declared and defined, not called
      note_calls(code)
  }
  function need(from, to, why) {
    if (from == to || !(to in known) || (from, to) in reason)
      return
    reason[from, to] = why
    follow[from, ++needs[from]] = to
  }
  # Tarjan: files that reach each other get one number.
  function visit(file,   i, other) {
    number[file] = low[file] = ++numbers
    stack[++depth] = file
    on_stack[file] = 1
    for (i = 1; i <= needs[file]; i++) {
      other = follow[file, i]
      if (!(other in number)) {
        visit(other)
        if (low[other] < low[file]) low[file] = low[other]
      } else if (on_stack[other] && number[other] < low[file])
        low[file] = number[other]
    }
    if (low[file] != number[file]) return
    groups++
    do {
      other = stack[depth--]
      on_stack[other] = 0
      group_of[other] = groups
      members[groups]++
    } while (other != file)
  }
  # Reports the circles of what need has been told, and forgets it.
  function report(kind,   name, group, n, i, j, other, circle, file) {
    for (name in known)
      if (!(name in number)) visit(name)
    for (name in known)
      if (members[group_of[name]] > 2)
        circle[group_of[name]] = circle[group_of[name]] " " name
    for (group in circle) {
      found++
      n = split(circle[group], file, " ")
      print "a circle of " n " files by " kind ":" circle[group]
      for (i = 1; i <= n; i++)
        for (j = 1; j <= needs[file[i]]; j++) {
          other = follow[file[i], j]
          if (group_of[other] == group)
            print "  " file[i] " -> " other ": " reason[file[i], other]
        }
    }
    split("", reason); split("", needs); split("", number); split("", members); split("", on_stack)
  }
  END {
    for (i = 1; i <= includes; i++)
      need(includer_of[i], included[i], included[i] ~ /^python\// ? "imports it" : "includes its header")
    report("includes")
    for (i = 1; i <= called; i++)
      for (d = 1; d <= definers[call_of[i]]; d++)
        need(caller_of[i], definer[call_of[i], d], "calls " call_of[i])
    report("calls")
    if (found) exit 1
    print "circles: none of more than 2 files"
  }'

# SPDX-License-Identifier: Apache-2.0
# The manual pages of section 3, made from the public headers: a page for each comment and the functions declared below it, with links
# for the second and further names, and libsley.3, which lists them all.
# Usage: awk -v folder=FOLDER -v version=VERSION -v list=FILE -f man3.awk include/sley.h include/sley_*.h      list: the names of the pages

function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.']/) text = "\\&" text
  return text
}
function head(name) {
  return ".TH " toupper(name) " 3 \"\" \"sley " version "\" \"Sley library\"\n.SH NAME\n"
}
# The first sentence of a comment, for NAME.
function first_sentence(text,  end) {
  gsub(/\n/, " ", text)
  end = match(text, /[.:;]( |$)/)
  return end ? substr(text, 1, end - 1) : text
}
function flush(  i, names, file) {
  if (functions == 0) return
  for (i = 1; i <= functions; i++) names = names (i > 1 ? ", " : "") name[i]
  file = folder "/" name[1] ".3"
  printf "%s%s \\- %s\n.SH SYNOPSIS\n.nf\n.B #include <%s>\n.PP\n", head(name[1]), names, roff(first_sentence(comment)), header >file
  for (i = 1; i <= functions; i++) printf ".B \"%s\"\n", roff(prototype[i]) >file
  printf ".fi\nLink with \\fI\\-lsley\\fP.\n.SH DESCRIPTION\n%s\n.SH SEE ALSO\n.BR libsley (3),\n.BR sley (1)\n", roff_lines(comment) >file
  close(file)
  print name[1] ".3" >list
  for (i = 2; i <= functions; i++) {
    print ".so man3/" name[1] ".3" >(folder "/" name[i] ".3")
    close(folder "/" name[i] ".3")
    print name[i] ".3" >list
  }
  for (i = 1; i <= functions; i++) all = all ".BR " name[i] " (3)\n"
  functions = 0
}
function roff_lines(text,  n, line, i, out) {
  n = split(text, line, "\n")
  for (i = 1; i <= n; i++) out = out (i > 1 ? "\n" : "") (line[i] == "" ? ".PP" : roff(line[i]))
  return out
}
function comment_text(text) {
  sub(/[ \t]*\*+\/.*$/, "", text)
  sub(/^[ \t]*\/?\*+[ \t]?/, "", text)
  return text
}

FNR == 1 {
  flush()
  header = FILENAME
  sub(/.*\//, "", header)
}
# A comment: kept until the declarations below it are done.
!inside && /^\/\*/ {
  flush()
  comment = ""
  inside = 1
}
inside {
  text = comment_text($0)
  if (!(comment == "" && text == "")) comment = comment (comment == "" ? "" : "\n") text
  if ($0 ~ /\*\//) {
    inside = 0
    if (!overview) overview = comment
    if (comment ~ /^-+/) { # a section
      gsub(/\n/, " ", comment)
      sub(/^-+ *[0-9]+ */, "", comment)
      all = all ".SS " comment "\n"
      comment = ""
    }
  }
  next
}
# Types and macros end what a comment is about.
/^(typedef|#define|struct|enum)/ { flush(); skipping = $0 ~ /\{[^}]*$/ || $0 ~ /\\$/; next }
skipping { if (/^}/ || ($0 !~ /\\$/ && $0 !~ /^ /)) skipping = 0; next }
/^[a-z].*[ *]sley_[a-z0-9_]+\(/ || open != "" {
  open = open (open == "" ? "" : " ") $0
  if ($0 ~ /;[ \t]*(\/\*.*)?$/) {
    gsub(/[ \t]+/, " ", open)
    sub(/;.*/, ";", open)
    match(open, /sley_[a-z0-9_]+\(/)
    functions++
    name[functions] = substr(open, RSTART, RLENGTH - 1)
    prototype[functions] = open
    open = ""
  }
}
END {
  flush()
  sub(/^SPDX[^\n]*\n+/, "", overview)
  file = folder "/libsley.3"
  printf "%slibsley \\- %s\n.SH SYNOPSIS\n.B #include <sley.h>\n.PP\n.B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs sley)\n", head("libsley"), "sparse matrix products across ranks" >file
  printf ".SH DESCRIPTION\n%s\n.PP\nThe types are described where they are declared, in the headers.\n.SH FUNCTIONS\n%s.SH SEE ALSO\n.BR sley (1)\n", roff_lines(overview), all >file
  print "libsley.3" >list
}

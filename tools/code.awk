# SPDX-License-Identifier: Apache-2.0
# What the checks in this folder share: reading C and the imports of Python, and the table of layers. A script puts this
# text before its own program.

FNR == 1 { in_comment = 0; declaration = "" }

# The line of C without comments, its texts emptied. Call it once for each line.
function code_of(line) {
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
  if (in_comment) { if (!sub(/.*\*\//, "", line)) return ""; in_comment = 0 }
  gsub(/\/\*[^*]*(\*[^\/*][^*]*)*\*\//, " ", line)
  sub(/\/\/.*/, "", line)
  if (sub(/\/\*.*/, "", line)) in_comment = 1
  return line
}

# Collects a declaration that begins at the margin, up to its { ; = or : and sets:
#   heading  the part of this line that belongs to it
#   defined  the name of the function or variable with linkage that it defines, "" if it defines none
#   is_function  whether it is a function
# Definitions are searched in .c and .cu; what a header defines is inline.
function read_declaration(line,   end) {
  heading = defined = ""
  if (line ~ /^#/ || (declaration == "" && line !~ /^[A-Za-z_]/)) return
  end = match(line, /[{;=:]/)
  heading = end ? substr(line, 1, end) : line
  declaration = declaration " " heading
  if (!end) return
  if (FILENAME ~ /\.cu?$/) defined = defined_by(substr(declaration, 2))
  declaration = ""
}

function defined_by(text,   last) {
  last = substr(text, length(text))
  text = substr(text, 1, length(text) - 1)
  if (text ~ /^(static|typedef|extern|struct|enum|union|return|using|namespace|template|case|default)([^A-Za-z0-9_]|$)/)
    return ""
  is_function = text ~ /\(/
  if (is_function) { if (last != "{") return ""; sub(/[ \t]*\(.*/, "", text) }
  else if (last != "=" && last != ";") return ""
  sub(/(\[[^\]]*\])*[ \t]*$/, "", text)
  return text ~ /[ *&]/ && match(text, /[A-Za-z_][A-Za-z0-9_]*$/) ? substr(text, RSTART) : ""
}

# The files that a line of a Python module imports, in imported[1] .. imported[n]; returns n. The package is sley.
function read_import(line,   n, i, word, names) {
  split("", imported)
  sub(/[ \t]*#.*/, "", line)
  n = split(line, word, /[ \t,]+/)
  i = word[1] == "" ? 2 : 1
  if (word[i] !~ /^(from|import)$/ || word[i + 1] !~ /^sley(\.|$)/) return 0
  if (word[i] == "import") { imported[1] = module_file(word[i + 1]); return 1 }
  names = 0
  for (i += 3; i <= n; i++) {
    if (word[i] == "as") i++
    else if (word[i] ~ /^[A-Za-z_]/) imported[++names] = module_file_of(word[1] == "" ? word[3] : word[2], word[i])
  }
  if (names == 0) imported[++names] = module_file(word[1] == "" ? word[3] : word[2])
  return names
}

function module_file(module) {
  gsub(/\./, "/", module)
  return is_file("python/" module ".py") ? "python/" module ".py" : "python/" module "/__init__.py"
}

# A name imported from a module: a module of the folder, or what the module defines.
function module_file_of(module, name) {
  return is_file(module_file(module "." name)) ? module_file(module "." name) : module_file(module)
}

function is_file(path,   line) {
  if (!(path in file_known)) {
    file_known[path] = (getline line < path) >= 0
    close(path)
  }
  return file_known[path]
}

# Reads the layers from docs/ARCHITECTURE.md: layer["src/base"], layer["python/sley/plan.py"], layer["python/sley/torch"].
function read_layers(   line, number, cell) {
  while ((getline line < "docs/ARCHITECTURE.md") > 0) {
    number = line
    sub(/^\|/, "", number)
    if (line ~ /^ *[0-9]+ +src\//)
      while (match(line, /src\/[a-z_]+\//)) {
        layer[substr(line, RSTART, RLENGTH - 1)] = number + 0
        line = substr(line, RSTART + RLENGTH)
      }
    else if (line ~ /^\| [0-9]+ \| `/) {
      split(line, cell, "|")
      while (match(cell[3], /`[a-z_]+(\.py|\/)`/)) {
        layer["python/sley/" substr(cell[3], RSTART + 1, RLENGTH - (substr(cell[3], RSTART, RLENGTH) ~ /\/`$/ ? 3 : 2))] = number + 0
        cell[3] = substr(cell[3], RSTART + RLENGTH)
      }
    }
  }
}

# The key in layer[] of a file of src/ or python/sley/: its folder, or the file itself.
function layer_key(path,   part) {
  split(path, part, "/")
  return part[1] == "src" ? "src/" part[2] : "python/sley/" part[3]
}

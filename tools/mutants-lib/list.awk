# Lists the mutants of a C header, one a line, fields parted by tabs: FILE LINE COLUMN OLD NEW for a replacement within
# a line, FILE LINE 0 LENGTH LENGTH2 for two neighbouring checks that change places (their lengths in lines).
#
# Only code is changed: no comment, no preprocessor line, no declaration, no table of numbers.

BEGIN {
	OFS = "\t"
	# Longer operators first, so that none is found within another.
	n = split("<< >> <= >= == != && || -> ++ -- += -= |= &= < > + - !", operators, " ")
	into["<="] = "<"; into[">="] = ">"; into["<"] = "<="; into[">"] = ">="
	into["=="] = "!="; into["!="] = "=="
	into["&&"] = "||"; into["||"] = "&&"
	into["+"] = "-"; into["-"] = "+"; into["!"] = ""
	into["+="] = "-="; into["-="] = "+="; into["|="] = "&="; into["<<"] = ">>"; into[">>"] = "<<"
}

# The line without comments and strings, which are replaced by blanks of the same length.
function bare(text, i, out, c) {
	out = ""
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (comment) {
			if (substr(text, i, 2) == "*/") { comment = 0; out = out " "; i++ }
			out = out " "
		} else if (substr(text, i, 2) == "/*") {
			comment = 1; out = out "  "; i++
		} else if (c == "\"") {
			do { out = out " "; i++ } while (i <= length(text) && substr(text, i, 1) != "\"")
			out = out " "
		} else {
			out = out c
		}
	}
	return out
}

function operator_at(text, i, k) {
	for (k = 1; k <= n; k++)
		if (substr(text, i, length(operators[k])) == operators[k]) return operators[k]
	return ""
}

function mutate(text, i, op, c, before, number) {
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		before = i > 1 ? substr(text, i - 1, 1) : " "
		if (c ~ /[0-9]/ && before !~ /[A-Za-z0-9_.]/) {
			match(substr(text, i), /^[0-9A-Za-z]+/)
			number = substr(text, i, RLENGTH)
			# Decimal numbers, of whatever suffix; hexadecimal ones are masks that a change of one makes senseless.
			if (number !~ /^0x/) {
				match(number, /^[0-9]+/)
				print FILENAME, FNR, i, substr(number, 1, RLENGTH), substr(number, 1, RLENGTH) + 1
			}
			i += length(number) - 1
		} else if ((op = operator_at(text, i)) != "") {
			# A sign or a pointer is no arithmetic.
			if (op in into && !(op ~ /^[-+]$/ && substr(text, i + 1, 1) != " "))
				print FILENAME, FNR, i, op, into[op]
			i += length(op) - 1
		}
	}
}

# A check: "if (...)" and the one statement under it.  Two that follow each other at the same depth can be swapped.
function note_check(text, depth, ends) {
	match(text, /^\t*/)
	depth = RLENGTH
	if (start && depth > start_depth && text ~ /;[ \t]*$/) {
		if (last_end == start - 1 && last_depth == start_depth)
			print FILENAME, last_start, 0, start - last_start, FNR - start + 1
		last_start = start; last_end = FNR; last_depth = start_depth
		start = 0
	} else if (start && text ~ /[{;]/) {
		start = 0
	}
	if (text ~ /^\t+if \(/ && text !~ /\{[ \t]*$/) { start = FNR; start_depth = depth }
}

FNR == 1 { comment = body = start = last_end = 0 }
{
	line = bare($0)
	if (line ~ /^#/ || (line ~ /^[^\t }]/ && line ~ /\[.*\] = \{/)) { table = line ~ /\{/; next }
	if (table) { if (line ~ /\};/) table = 0; next }
	if (line ~ /^\{/) { body = 1; next }
	if (line ~ /^\}/) { body = 0; next }
	if (!body) next
	mutate(line)
	note_check(line)
}

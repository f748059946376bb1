# Lists the mutants of a C header, one a line, fields parted by tabs: FILE LINE COLUMN OLD NEW for a replacement within
# a line, FILE LINE 0 LENGTH LENGTH2 for two neighbouring checks that change places (their lengths in lines).
#
# Only code is changed: no comment, no preprocessor line (so no header guard), no declaration, no table of numbers.
#
# Left out is what cannot matter by construction; with excluded=1 those are listed instead, the reason behind them:
#   - which of the scratch masks place_search.t[] a step works in: a step writes a mask before it reads it, so another
#     one is as good, unless it is in use already, which says nothing about a rule;
#   - `<` or `>=` beside PLACE_MAX_*, and the `&&` behind it: bounds for the verifier. The tables never hold more than
#     these numbers, and what they hold beyond the real ones is empty;
#   - the `&&` before place_can_loop, which is 1 on the host: `|| 1` never ends, which says nothing about the tests.

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

# Why a change of what stands at i and is `length` long cannot matter; empty: it can.
function why_not(text, i, op, before, after) {
	before = substr(text, 1, i - 1)
	after = substr(text, i + length(op))
	if (before ~ /->t\[$/) return "scratch mask"
	if (op ~ /^(<|>=)$/ && after ~ /^ PLACE_MAX_/) return "bound for the verifier"
	if (op == "&&" && before ~ /(<|>=) PLACE_MAX_[A-Z]+ $/) return "bound for the verifier"
	if (op == "&&" && after ~ /^ place_can_loop/) return "endless on the host"
	return ""
}

function put(text, i, old, new, why) {
	why = why_not(text, i, old)
	if (excluded && why != "") print FILENAME, FNR, i, old, new, why
	else if (!excluded && why == "") print FILENAME, FNR, i, old, new
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
				put(text, i, substr(number, 1, RLENGTH), substr(number, 1, RLENGTH) + 1)
			}
			i += length(number) - 1
		} else if ((op = operator_at(text, i)) != "") {
			# A sign or a pointer is no arithmetic.
			if (op in into && !(op ~ /^[-+]$/ && substr(text, i + 1, 1) != " "))
				put(text, i, op, into[op])
			i += length(op) - 1
		}
	}
}

# A check: "if (...)" and the one statement under it.  Two that follow each other at the same depth can be swapped.
function note_check(text, depth, ends) {
	match(text, /^\t*/)
	depth = RLENGTH
	if (start && depth > start_depth && text ~ /;[ \t]*$/) {
		if (!excluded && last_end == start - 1 && last_depth == start_depth)
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

# Turns indented JSON, one member a line, into lines "path.of.names value"; members of arrays are counted from 0.
function path(   i, text) {
	text = name[1]
	for (i = 2; i <= depth; i++) text = text "." name[i]
	return text
}

{
	sub(/^[ \t]+/, "")
	sub(/,$/, "")
	if ($0 ~ /^[]}]$/) { depth--; next }
	if (is_array[depth]) key = count[depth]++
	else if (match($0, /^"[^"]*": /)) { key = substr($0, 2, RLENGTH - 4); $0 = substr($0, RLENGTH + 1) }
	else key = ""
	if (key != "") name[depth_name = depth] = key
	if ($0 == "{" || $0 == "[") { depth++; is_array[depth] = $0 == "["; count[depth] = 0; next }
	gsub(/^"|"$/, "")
	print path(), $0
}

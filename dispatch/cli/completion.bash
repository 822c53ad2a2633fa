# Completes PROGRAM in bash: source <(PROGRAM completion bash)

_FUNCTION() {
	local line=${COMP_LINE:0:COMP_POINT} word c
	local -a words=()

	# Bash has split what was typed at characters such as = and :, too. What had no space between is put together again.
	for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if ((${#words[@]} == 0)) || [[ $line == [[:space:]]* ]]; then
			line=${line#"${line%%[![:space:]]*}"}
			words+=("")
		fi
		[[ $line == "$word"* ]] || word=$line
		line=${line#"$word"}
		words[${#words[@]} - 1]+=$word
	done

	# Of the last word, bash replaces only what stands behind the last = or :, or begins with the last @.
	word=${words[${#words[@]} - 1]}
	local tail=$word
	for c in = : @; do
		[[ $COMP_WORDBREAKS == *"$c"* ]] && tail=${tail##*"$c"}
	done
	local head=${word%"$tail"}
	[[ $head == *@ ]] && head=${head%@} tail=@$tail

	COMPREPLY=()
	while IFS= read -r line; do
		line=${line%%$'\t'*}
		[[ $line == *[=./] ]] && compopt -o nospace
		printf -v line %q "${line#"$head"}"
		COMPREPLY+=("$line")
	done < <(command PROGRAM __complete "${words[@]:1}" 2>/dev/null)

	# Where there is nothing to say bash completes names of files, but not behind @.
	if ((${#COMPREPLY[@]} == 0)) && [[ $tail == @* ]]; then
		compopt -o nospace
		while IFS= read -r line; do
			[[ -d $line ]] && line+=/
			printf -v line %q "$line"
			COMPREPLY+=("@$line")
		done < <(compgen -f -- "${tail#@}")
	fi
}

complete -o default -F _FUNCTION COMMAND

#compdef COMMAND
# Completes PROGRAM in zsh: source <(PROGRAM completion zsh), or this text as the file _FUNCTION in a directory of $fpath.

_FUNCTION() {
	local line
	local -a candidates shown open openshown
	for line in "${(@f)$(command PROGRAM __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
		[[ -n $line ]] || continue
		if [[ ${line%%$'\t'*} == *[=./] ]]; then
			open+=("${line%%$'\t'*}")
			openshown+=("${line/$'\t'/  -- }")
			continue
		fi
		candidates+=("${line%%$'\t'*}")
		shown+=("${line/$'\t'/  -- }")
	done
	if (($#candidates + $#open)); then
		if (($#open)); then compadd -l -S '' -d openshown -a open; fi
		if (($#candidates)); then compadd -l -d shown -a candidates; fi
	else
		compset -P '*[=@]'
		_files
	fi
}

if [[ $funcstack[1] == _FUNCTION ]]; then
	_FUNCTION "$@"
else
	compdef _FUNCTION COMMAND
fi

# Completes PROGRAM in fish: PROGRAM completion fish | source

function __FUNCTION_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l candidates (command PROGRAM __complete $words[2..] "$current" 2>/dev/null)
	if test (count $candidates) -gt 0
		printf '%s\n' $candidates
	else
		set -l head (string match -r -- '^.*[=@]' "$current")
		__fish_complete_path (string sub -s (math (string length -- "$head") + 1) -- "$current") | string replace -r '^' -- "$head"
	end
end

complete -c COMMAND -f -a '(__FUNCTION_complete)'

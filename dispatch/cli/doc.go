// Package cli is the command-line surface of a catalog: each operation is a command and each
// argument a flag, made from the schemas.
//
//	catalog := dispatch.NewCatalog()
//	dispatch.Add(catalog,
//		dispatch.Spec{Name: "note.add", Summary: "Add a note.", Type: dispatch.Write}, add)
//	dispatcher := dispatch.Options{}.New(catalog)
//	os.Exit(cli.Run(ctx, dispatcher, os.Args[1:], cli.Stdio("notes")))
//
// That is a program with commands, help and shell completion:
//
//	notes note add --title Milk --tags home --tags shop
//	notes note add --help
//	source <(notes completion bash)
//
// # Commands
//
// The words before the first flag, joined by dots, name the operation: "note add" is note.add. All
// arguments are flags. -o text|json selects the format of the result; --help or -h prints the help
// of an operation, or of all whose names begin with the words. These flags may stand anywhere
// except as the value of another. In place of an operation, - runs the command lines on standard
// input; see below.
//
// [IO].Find can add operations to the catalog when they are named.
//
// # Flags
//
// A flag has the name of a property of the input schema; - may be written for _. The type of the
// property decides how the text becomes JSON:
//
//	--title 012             a string stays what it is
//	--count 5, --count=5    integer, number, null; the value may begin with '-'
//	--done, --no-done       boolean, or --done=true and --done=false
//	--tags a --tags b       array, one element at a time
//	--size.width 3          property of an object; --env.NAME value, if the object takes any name
//	--size:='{"width":3}'   any value as JSON; of an array, all of it if given once
//	--title @FILE           content of a file; @@text is the text "@text"
//	--title -, --title @-   standard input, once
//	--json, -d '{…}'        all arguments as one object, or @FILE, or -; flags go on top of it
//	title=012, size:='{}'   the same without --, after the name of the operation
//
// Only --json sets a property named json or help, or yes if that is a flag; see below. Text that
// does not fit the type becomes a string, because only the dispatcher validates arguments. The
// content of a file is encoded as base64 for a property with contentEncoding base64. A file or
// standard input is limited to 64 MiB.
//
// # Confirmation
//
// If an operation fails with confirmation_required, and In and Err are terminals, Run asks the
// person at the terminal, and calls the operation again if the answer is y or yes:
//
//	notes: note delete: Delete a note. This cannot be undone. Go on? [y/N]
//
// Otherwise, or if a flag has read standard input, the call fails. The flag --yes or -y confirms in
// advance. It exists for operations whose [dispatch.Operation.Destructive] is true.
//
// # Scripts
//
// The word - runs command lines from standard input, each as soon as it is complete, on the same
// dispatcher. A session that one command line opens is available to the next:
//
//	notes -o json - <<'END'
//	note add --title 'Buy milk' --tags home   # a comment
//	note add --title Bread \
//	    --tags home
//	END
//
// A line is split into words as by a POSIX shell without expansions. Spaces, tabs and carriage
// returns separate words. Single quotes keep all characters; within double quotes a backslash
// escapes ", \, $ and `, and removes a line end; elsewhere it escapes any character. # at the
// beginning of a word begins a comment. Quotes may span lines. A command line is limited to 1 MiB.
// The examples of the help use this quoting on Windows too: cmd.exe accepts the double quotes, and
// PowerShell since 7.3 also the single quotes. Options before - apply to all lines without their
// own. Flags cannot read standard input, confirmation requires --yes, and - is not a command line.
//
// The first failure ends the script with its exit code, unless standard input is a terminal. Its
// message contains the number of the line in which the command line begins, as in "line 3". The
// script is read byte by byte and not beyond the command line that runs. On a terminal Run prints a
// prompt.
//
// # Results
//
// As text, an object is printed as lines "name: value", an array of flat objects as a table, a
// string without quotes, and {} and null not at all. A document is an object with a string
// "content" and an "encoding" of text or base64. Its content is printed, byte for byte unless Out
// is a terminal; if it has "truncated":true, a note is printed on Err. With -o json, the envelope
// is printed on one line, as [dispatch.Envelope.AppendJSON] encodes it.
//
// A failure is one line on Err; nothing is printed on Out:
//
//	notes: note add: missing_param: --title is missing
//
// With -o json it is the envelope. The exit code is that of [dispatch.CodeInfo]. An error of the
// command line itself is invalid_input, missing_param or unknown_operation.
//
// Output cannot control a terminal: control characters, escape sequences, and characters that are
// invisible or change the direction of text are printed as \u escapes, which mean the same in JSON.
// Only a string, a document or an envelope is printed unchanged, if Out is not a terminal.
package cli

// Package cli is the command-line surface of a catalog: every operation a command, every argument a
// flag, all of it from the schemas.
//
//	catalog := dispatch.NewCatalog()
//	dispatch.Add(catalog,
//		dispatch.Spec{Name: "note.add", Summary: "Add a note.", Kind: dispatch.Write}, add)
//	dispatcher := dispatch.NewDispatcher(catalog, dispatch.Options{})
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
// The words before the first flag, joined by dots, name the operation: "note add" is note.add.
// There are no arguments but flags. -o text|json says how to print, --help or -h shows the help of
// what the words name, be it an operation or the beginning of some; both may stand anywhere but in
// the place of a value. In place of an operation, - runs the command lines on standard input, see
// below.
//
// Operations may be added to the catalog when they are named: see [IO].Find.
//
// # Flags
//
// A flag has the name of a property of the input schema, with '-' in place of '_' if you like. How
// its text becomes JSON is up to the property's type:
//
//	--title 012             a string stays what it is
//	--count 5, --count=5    integer, number, null; the value may begin with '-'
//	--done, --no-done       boolean, or --done=true and --done=false
//	--tags a --tags b       array, one element at a time
//	--size.width 3          property of an object; --env.NAME value, if the object takes any name
//	--size:='{"width":3}'   any value as JSON; of an array, all of it if given once
//	--title @FILE           content of a file, where a string is wanted; @@text is the text "@text"
//	--title -, --title @-   standard input, once
//	--json '{"count":5}'    all arguments as one object, or @FILE, or -; flags go on top of it
//
// Only --json takes a property that is itself named json or help, or yes where that is a flag, see
// below. Text that does not fit its type is passed on as a string: whether arguments fit is for the
// dispatcher alone to say. A file goes into a property with contentEncoding base64 encoded so. A
// file, or standard input, may have 64 MiB.
//
// # Confirmation
//
// If an operation answers confirmation_required, and both In and Err are terminals, the person
// there is asked, and the operation is called again if the answer is y or yes:
//
//	notes: note delete: Delete a note. This cannot be undone. Go on? [y/N]
//
// Where nobody can be asked, or standard input was read for a flag, the call fails. The flag --yes
// or -y confirms from the start. Operations have it for which [dispatch.Operation.Destructive]
// holds.
//
// # Scripts
//
// The word - runs command lines from standard input, each as soon as it is complete, on the same
// dispatcher, so that what one opens, a session, is there for the next:
//
//	notes -o json - <<'END'
//	note add --title 'Buy milk' --tags home   # a comment
//	note add --title Bread //	    --tags home
//	END
//
// A line is split into words as by a POSIX shell that expands nothing: spaces, tabs and carriage
// returns separate words; between ' all is kept; between " a backslash keeps ", \, $, ` and takes a
// line end away, elsewhere it keeps any character; # at the beginning of a word begins a comment.
// Quotes may reach over lines. A command line may have 1 MiB, its end included. The examples of the
// help are quoted so, on Windows too: cmd.exe knows the double quotes, PowerShell since 7.3 also
// the single ones. Options before - are for all lines that do not have their own. Flags cannot read
// standard input, what has to be confirmed wants --yes, and - is no command line.
//
// The first failure ends the script with its exit code, unless a person types it; its message has
// the number of the line, "line 3", where the command line begins. The script is read byte by byte
// and no further than it was run. A person at a terminal is shown a prompt.
//
// # Results
//
// As text, an object is printed as lines "name: value", an array of flat objects as a table, a
// string as it is, {} and null not at all. A document, which is an object with a string "content"
// and an "encoding" of text or base64, is printed as its content, every byte of it and nothing else
// unless Out is a terminal; if it has "truncated":true, a note on Err says so. With -o json, the
// envelope is printed on one line, as [dispatch.Envelope.AppendJSON] has it.
//
// A failure is one line on Err, and nothing on Out:
//
//	notes: note add: missing_param: --title is missing
//
// or with -o json the envelope. The exit code is that of [dispatch.CodeInfo]; what is wrong with
// the command line itself is invalid_input, missing_param or unknown_operation.
//
// What an operation says cannot act on a terminal: control characters, escape sequences and
// characters that are invisible or change the direction of text are printed as \u escapes, in JSON
// too, where they mean the same. Only a string, a document or an envelope that goes elsewhere than
// to a terminal goes there as it is.
package cli

// Package proc implements the process operations of stdwire. Those for a program that runs between
// calls, such as proc.start, need [dispatch.GateExec]. proc.eval runs a shell script to its end,
// and needs [dispatch.GateEval].
//
//	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: "."}})
//	…
//	service, err := proc.Register(catalog, proc.Options{Roots: roots, Allow: []string{"git"}})
//	…
//	defer service.Shutdown(ctx)
//
// A program that uses this package must call Main of package guard first in its main function.
//
// # The life of a process
//
// proc.start runs a program in a directory of a root, directly and not by a shell. Its environment
// has the variables that every child inherits (see internal/child) and those that the caller adds.
// Its stdin is a pipe; stdout and stderr are one other pipe. The process is a session (see
// [dispatch.Sessions]) of its caller, named after the program: "python3-4f9a2c".
//
// proc.send writes to its stdin. Its output is always read, so that the process does not block.
// proc.read returns that output. It can wait for output, for a pattern, or for the exit. Each read
// continues where the last one ended. So a caller can use an interpreter:
//
//	proc.start {"command":"python3","args":["-i","-q","-u"]}
//	proc.read  {"pattern":"^>>> $"}
//	proc.send  {"text":"6*7"}
//	proc.read  {"pattern":"^>>> $"}
//
// A process ends when it exits; its descendants are killed then. An ended process remains a
// session, so that its output and its exit status can be read, until proc.stop. A session also
// ends, and its process with it,
//
//   - when no call has used it for [Options.Idle];
//   - when the client that started it is gone ([dispatch.Call.Client]);
//   - when its caller starts another one while [Options.Max] sessions exist, if it is the oldest of
//     the caller's sessions whose process has ended;
//   - when [Service.Shutdown] is called;
//   - when this program dies of any cause (see package guard).
//
// To end a process, its stdin is closed; half a second later it gets SIGTERM, and after two
// seconds, or the grace of proc.stop, SIGKILL.
//
// # Limits
//
// The last [Options.Buffer] bytes of a session's output are kept. stdout and stderr are one pipe,
// so that output is in the order in which it was written; they cannot be told apart. If a reader is
// too slow, or a cursor too old, the result says how many bytes were lost. A match of a pattern is
// always found if it is at most 4 KiB long; a longer one may be missed. A read returns at most 256
// KiB, a script at most 64 KiB: the first and the last half of its output. A send takes up to 1 MiB
// and waits for the process to read it. No wait is longer than ten minutes.
//
// # Not a sandbox
//
// A process has all rights of this program's user: it can read and write the user's files, use the
// network, and start other programs. The root only bounds its initial directory. Stronger limits
// are up to the operating system: another user, a container.
//
// With [Options.Allow], proc.start starts only the listed programs, by exactly the listed name or
// path, and a caller cannot set environment variables that are known to make them run other code. A
// list that has an interpreter, a shell, make, or another program that runs given commands, or a
// program in a directory where callers can write, allows everything. The list does not apply to
// proc.eval, which is a shell; there the dispatcher's blocklist catches mistakes, and no more.
//
// # Windows
//
// There is no proc.eval, because there is no sh. To end a process, its stdin is closed; then it
// gets a CTRL_BREAK event if it shares a console with this program; after its grace, it is killed
// with its descendants.
//
// Allowed names are case-insensitive and may lack an extension of PATHEXT: "npx" allows NPX.CMD.
// Allowed paths may have either slash. Batch files are run by cmd.exe; arguments that it cannot
// pass on unchanged are refused.
//
// Many programs write in the code page of the console instead of UTF-8; of their output only ASCII
// characters are kept. Some have a setting for UTF-8, such as python3 -X utf8.
package proc

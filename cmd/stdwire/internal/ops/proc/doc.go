// Package proc has the process operations of stdwire. Behind [dispatch.GateExec] are proc.start, proc.send, proc.read, proc.wait,
// proc.signal, proc.list and proc.stop, for a program that runs on between calls; behind [dispatch.GateEval] is proc.eval, for a shell
// script that is run to its end.
//
//	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: "."}})
//	…
//	service, err := proc.Register(catalog, proc.Options{Roots: roots, Allow: []string{"python3", "git"}})
//	…
//	defer service.Shutdown(ctx)
//
// The program has to call Main of internal/guard first thing in main.
//
// # The life of a process
//
// proc.start runs a program in a directory of a root, directly and not by a shell. Its environment is what internal/child lets every child
// inherit, and what the caller adds. Its stdin is a pipe, its stdout and stderr another. It becomes a session (see [dispatch.Sessions]) of the caller who
// started it, named after the program: "python3-4f9a2c".
//
// proc.send writes to its stdin. What it writes is always taken, whether or not somebody reads, so that it never waits; proc.read returns
// what has come, or waits: for anything, for a pattern, for the end. Each read goes on where the last one ended. That is all it takes to talk
// to an interpreter:
//
//	proc.start {"command":"python3","args":["-i","-q","-u"]}
//	proc.read  {"pattern":"^>>> $"}
//	proc.send  {"text":"6*7"}
//	proc.read  {"pattern":"^>>> $"}
//
// The end of a process is its own exit; all that it started and left behind is killed with it. An ended process stays a session, for its
// output to be read and its exit status to be asked for, until proc.stop. A session also ends, and with it the process if it still runs,
//
//   - when no call has used it for [Options.Idle];
//   - when the client that started it is gone ([dispatch.Call.Client]);
//   - when its caller starts another one and there are [Options.Max]: then the oldest of the caller's that has ended makes room;
//   - with [Service.Shutdown], and whatever this program dies of (see internal/guard).
//
// A process that has to end gets the end of its stdin, half a second later SIGTERM, and SIGKILL when two seconds are over, or as many as
// proc.stop says.
//
// # Limits
//
// Of each session the last [Options.Buffer] bytes of output are kept, stdout and stderr together: they are one pipe, so that it comes in the
// order in which it was written, and cannot be told apart. A reader that is too slow, or a cursor that is too old, is told how many bytes are
// lost. A pattern is found, however the output comes, if it matches within 4 KiB; a longer match may be missed.
// A read returns 256 KiB at most, a script 64 KiB: the first and the last half of what it wrote. A send takes a MiB and waits for the process
// to read it. No wait is longer than ten minutes.
//
// # What is not promised
//
// A program that is started can do whatever this program's user can: read and write all of the user's files, use the network, start others.
// The root only bounds the directory that it starts in. What bounds more is for the operating system: another user, a container.
//
// With [Options.Allow] only the programs of a list are started by proc.start, by the name or the path that is on the list, to the letter, and
// a caller cannot set the environment variables that are known to have them run something else. A list is as good as what is on it: one that
// has an interpreter, a shell, make, or anything else that runs what it is told to, or a program in a place where callers write, allows
// everything. It is not for proc.eval, which is a shell; who opens that gate wants one. There the dispatcher's blocklist catches mistakes, no
// more.
//
// # Windows
//
// There is no proc.eval, as there is no sh. A process that has to end gets the end of its stdin,
// then a CTRL_BREAK event if it has a console together with this program, and is killed, with all
// that it has started, when its time is over.
//
// A name that is allowed is one in letters of either case, with or without an extension of PATHEXT:
// "npx" allows NPX.CMD. An allowed path may have either slash. Batch files are run by cmd.exe, which
// cannot be given every argument; one that it would take for something else is refused.
//
// Many programs write in the code page of the console, not in UTF-8, and of what they write only
// ASCII is left. Some have a setting for that, as python3 -X utf8.
package proc

package serve

import (
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// A defence is a row of stdwire help security.
type defence struct {
	against string // what somebody tries
	by      string // what stops it
	limit   string // what it does not stop
}

var Defences = []defence{
	{"A path, link or race that leads out of a --root.",
		"Every file is opened within its root by the system, one directory after the other. Only regular files are read.",
		"Hard links, and what is mounted in a root. Files that clients may write are run by whoever runs them."},
	{"A client that starts programs.",
		"Without --allow-exec or --allow-eval the operations do not exist. --allow-exec=CMD,… allows these commands by their exact names (on Windows regardless of case and extension), and no variable that decides what is run.",
		"A command that is allowed can do what you can. The list of dangerous words catches mistakes, not attackers."},
	{"Processes that outlive what started them.",
		"Each command of proc has a guard, which on Linux ends all its descendants, even when stdwire is killed; on Windows a job object does. A server is ended with its process group or job.",
		"Descendants that leave the group when the guard itself is killed, and on other Unix systems: see the package internal/guard."},
	{"A client that edits the configuration of a gateway.",
		"A file that changes while serve runs only takes away. What gives more waits for " + command.LetsInAll + ", stdwire restart or stdwire trust; stdwire status shows it. What a gateway relies on may not lie under a root with --write.",
		"Unrestricted --allow-exec and --allow-eval. What another file server writes is believed at the next start."},
	{"A project's files.",
		"Nothing of them is started, and none of their profiles takes the place of yours, before stdwire trust has shown you all that they say. When they change you are asked again.",
		"The programs that a trusted definition names may change."},
	{"A server that changes, or takes the place of another.",
		"Tools, resources, templates and prompts are compared with what they were when they were first used (stdwire pin). Names and URIs belong to the first server in the order of the configuration. stdwire scan looks for text that misleads.",
		"What a server was from the start, and what it does with your data."},
	{"A server that asks for secrets, or sends you to a page.",
		"Secrets are not asked for at the terminal; a page is opened only after you agreed to its address. Control characters of servers are not printed.",
		"What you type into a page."},
	{"A secret that reaches others.",
		"Values of variables, headers and tokens are never logged or printed. Servers get a short list of variables without credentials. A client secret goes only to the issuer that the configuration names. Digests in logs have a key.",
		"What a server is given by its configuration. inheritEnv: true gives it everything."},
	{"Callers who are not known.",
		"serve --http wants a bearer token of 16 bytes or more, or access tokens of an issuer (--oauth-issuer). Other web sites, and names that point here, are refused.",
		"--no-auth, which serves this machine only. TLS is for a proxy in front."},
	{"A caller who uses up memory, places or time.",
		"Bodies, answers, requests, sessions, streams, tasks, searches and connections are bounded together, in bytes or in number. A caller gets at most half of what the others leave. Slow readers are cut off after 30 s without progress, and after 2 minutes in all.",
		"Callers who share a token are one caller. Processor time is shared by the system."},
	{"One client of a server that reads what another did.",
		"Sessions and tasks belong to one principal. A server with perSession has a process for each client, and is refused to requests without a session.",
		"Servers that are shared: all their clients are one client for them."},
	{"Malformed, endless or deeply nested messages and schemas.",
		"Frames, nesting, schemas and definitions have limits; what is over them is refused or left out, and the connection lives.",
		"A message that is too large to be skipped ends its connection."},
}

// SecurityHelp explains what is defended against.
func SecurityHelp() string {
	var b strings.Builder
	b.WriteString(command.Wrap("What stdwire defends you against, by what (+), and what that does not stop (-). "+
		"Most of it needs no flag.", 0, 0) + "\n")
	for _, d := range Defences {
		b.WriteString("\n" + command.Wrap(d.against, 0, 0) + "\n")
		b.WriteString(command.Wrap("+ "+d.by, 2, 4) + "\n")
		b.WriteString(command.Wrap("- "+d.limit, 2, 4) + "\n")
	}
	return b.String()
}

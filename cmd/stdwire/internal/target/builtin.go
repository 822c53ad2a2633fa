package target

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// BuiltinFlags are the flags of stdwire's own server.
type BuiltinFlags struct {
	args  []string // the flags as given
	Roots []string // see [fs.ParseRoot]
	Write bool
	Exec  bool
	allow []string // commands; nil: all
	Eval  bool

	confirm string // "", ask, trust
	tools   string // "", operation, service
}

// Flags returns the flags that decide which operations exist.
func (b *BuiltinFlags) Flags() []command.Flag {
	return command.RecordFlags(&b.args,
		command.Flag{Name: "--root", Value: "[NAME=]DIR", Many: true,
			Help: "directory whose files are offered; may be repeated, the first is the default (default .)",
			Set: func(value string) error {
				_, err := fs.ParseRoot(value)
				b.Roots = append(b.Roots, value)
				return err
			}},
		command.SwitchFlag(&b.Write, "--write", "offer the operations that change files"),
		command.Flag{Name: "--allow-exec", Value: "CMD,…", Optional: true,
			Help: "offer the operations that run programs: any, or only these",
			Set: func(value string) error {
				b.Exec = true
				for name := range strings.SplitSeq(value, ",") {
					if name = strings.TrimSpace(name); name != "" {
						b.allow = append(b.allow, name)
					}
				}
				return nil
			}},
		command.SwitchFlag(&b.Eval, "--allow-eval", "offer proc.eval, which runs shell text"),
	)
}

// ServerFlags returns Flags and the flags that decide how operations are offered to MCP clients.
func (b *BuiltinFlags) ServerFlags() []command.Flag {
	return append(b.Flags(), command.RecordFlags(&b.args,
		command.ChoiceFlag(&b.confirm, "--confirm",
			"before something is destroyed: ask the client's user, or trust the client to have asked (default ask)",
			"ask", "trust"),
		command.ChoiceFlag(&b.tools, "--tools",
			"what is a tool: each operation, or each service, with the operation as its argument (default operation)",
			"operation", "service"),
	)...)
}

// FirstFlag returns one of the given flags, or "".
func (b *BuiltinFlags) FirstFlag() string {
	if b.args == nil {
		return ""
	}
	name, _, _ := strings.Cut(b.args[0], "=")
	return name
}

// ServeArgs returns the arguments with which stdwire serves the same operations.
func (b *BuiltinFlags) ServeArgs() []string { return slices.Concat([]string{"serve"}, b.args) }

// ServeArgsFrom is ServeArgs for a process that starts in another directory: roots are absolute,
// and dir is the root if none is given.
func (b *BuiltinFlags) ServeArgsFrom(dir string) (args []string, err error) {
	args = []string{"serve"}
	if b.Roots == nil {
		args = append(args, "--root="+dir)
	}
	for _, given := range b.Roots {
		root, err := fs.ParseRoot(given)
		if err != nil {
			return nil, command.Usagef("%v", err)
		}
		name := strings.TrimSuffix(given, root.Dir)
		if !filepath.IsAbs(root.Dir) {
			root.Dir = filepath.Join(dir, root.Dir)
		}
		args = append(args, "--root="+name+root.Dir)
	}
	for _, arg := range b.args {
		if !strings.HasPrefix(arg, "--root=") {
			args = append(args, arg)
		}
	}
	return args, nil
}

// A BuiltinServer is the catalog of the built-in operations with its roots and processes.
type BuiltinServer struct {
	Catalog *dispatch.Catalog
	roots   *fs.Roots
	end     func(context.Context) error // of the processes; nil: there are none
}

// HasFlags reports whether a flag of Flags was given.
func (b *BuiltinFlags) HasFlags() bool { return b.Roots != nil || b.Write || b.Exec || b.Eval }

// rootDirs returns the roots, by default the working directory.
func (b *BuiltinFlags) rootDirs() (list []fs.Root, err error) {
	given := b.Roots
	if given == nil {
		given = []string{"."}
	}
	for _, s := range given {
		root, err := fs.ParseRoot(s)
		if err != nil {
			return nil, command.Usagef("%v", err)
		}
		list = append(list, root)
	}
	return list, nil
}

// Writable returns the roots in which clients may change files. It returns nil if they may run any
// program, and so can change all files.
func (b *BuiltinFlags) Writable() WritableRoots {
	if !b.Write || b.Exec && b.allow == nil || b.Eval {
		return nil
	}
	list, _ := b.rootDirs() // Open has reported an error
	var dirs []string
	for _, root := range list {
		dirs = append(dirs, root.Dir)
	}
	return openWritableRoots(dirs)
}

// Open returns the catalog. It opens the gates of the flags and those in gates. The caller closes
// the server.
func (b *BuiltinFlags) Open(log *slog.Logger, gates ...dispatch.Gate) (*BuiltinServer, error) {
	if b.Eval && !proc.HasEval {
		return nil, command.Usagef(
			"--allow-eval: proc.eval runs scripts by sh, which this system does not " +
				"have; leave it out, and offer programs with --allow-exec")
	}
	list, err := b.rootDirs()
	if err != nil {
		return nil, err
	}
	for _, g := range []struct {
		open bool
		gate dispatch.Gate
	}{{b.Write, dispatch.GateWrite}, {b.Exec, dispatch.GateExec}, {b.Eval, dispatch.GateEval}} {
		if g.open {
			gates = append(gates, g.gate)
		}
	}
	o := &BuiltinServer{Catalog: dispatch.NewCatalog(gates...)}
	if o.roots, err = fs.OpenRoots(list); err != nil {
		return nil, command.Usagef("%v", err)
	}
	if err = fs.Register(o.Catalog, o.roots); err == nil {
		var processes *proc.Service
		if processes, err = proc.Register(o.Catalog,
			proc.Options{Roots: o.roots, Allow: b.allow, Logger: log}); err == nil {
			o.end = processes.Shutdown
		}
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

const shutdownTimeout = 5 * time.Second // for processes to end

// Close ends the processes and closes the roots.
func (o *BuiltinServer) Close() error {
	var err error
	if o.end != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		err = o.end(ctx)
	}
	if o.roots != nil {
		err = errors.Join(err, o.roots.Close())
	}
	return err
}

func (b *BuiltinFlags) Options(log *slog.Logger) server.Options {
	o := server.Options{Logger: log, Instructions: b.instructions(),
		TrustClients: b.confirm == "trust"}
	if b.tools == "service" {
		o.Tools = server.ToolPerService
	}
	return o
}

// instructions returns instructions for a model about facts that the tools do not show.
func (b *BuiltinFlags) instructions() string {
	text := []string{
		"Paths are relative to a root directory; nothing outside of it can be reached by fs operations."}
	if !b.Write {
		text = append(text, "Files can be read but not changed.")
	}
	if b.Exec {
		text = append(text,
			"Programs that are started with proc_start live on until they end, proc_stop, or the end of this connection.")
	}
	return strings.Join(text, " ")
}

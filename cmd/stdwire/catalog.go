package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// builtin is what stdwire's own server offers: which directories, and what may be done.
type builtin struct {
	args  []string // flags as they were given
	roots []string // see [fs.ParseRoot]
	write bool
	exec  bool
	allow []string // commands; nil: all
	eval  bool

	confirm string // "", ask, trust
	tools   string // "", operation, service
}

// flags are those that say what there is.
func (b *builtin) flags() []flag {
	return b.remembered(
		flag{name: "--root", value: "[NAME=]DIR", many: true, help: "directory that files are in; may be repeated, the first is the default (default .)", set: func(value string) error {
			_, err := fs.ParseRoot(value)
			b.roots = append(b.roots, value)
			return err
		}},
		toggle(&b.write, "--write", "offer the operations that change files"),
		flag{name: "--allow-exec", value: "CMD,…", optional: true, help: "offer the operations that run programs: any, or only these", set: func(value string) error {
			b.exec = true
			for name := range strings.SplitSeq(value, ",") {
				if name = strings.TrimSpace(name); name != "" {
					b.allow = append(b.allow, name)
				}
			}
			return nil
		}},
		toggle(&b.eval, "--allow-eval", "offer proc.eval, which runs shell text"),
	)
}

// serverFlags are flags, and those that say how it is offered to MCP clients.
func (b *builtin) serverFlags() []flag {
	return append(b.flags(), b.remembered(
		choice(&b.confirm, "--confirm", "before something is destroyed: ask the client's user, or trust the client to have asked (default ask)", "ask", "trust"),
		choice(&b.tools, "--tools", "what is a tool: each operation, or each service, with the operation as its argument (default operation)", "operation", "service"),
	)...)
}

// remembered are flags that go on to a server that is started.
func (b *builtin) remembered(flags ...flag) []flag {
	for i := range flags {
		f := flags[i]
		flags[i].set = func(value string) error {
			arg := f.name
			if value != "" {
				arg += "=" + value
			}
			b.args = append(b.args, arg)
			return f.set(value)
		}
	}
	return flags
}

// given is one of the flags that were; "" if none was.
func (b *builtin) given() string {
	if b.args == nil {
		return ""
	}
	name, _, _ := strings.Cut(b.args[0], "=")
	return name
}

// serveArgs are the arguments with which stdwire serves the same.
func (b *builtin) serveArgs() []string { return slices.Concat([]string{"serve"}, b.args) }

// An offer is the built-in catalog, and what is behind it.
type offer struct {
	catalog *dispatch.Catalog
	roots   *fs.Roots
	procs   *proc.Service
}

// offers reports whether a flag was given that is about what there is.
func (b *builtin) offers() bool { return b.roots != nil || b.write || b.exec || b.eval }

// directories are the roots as they were given, or the one that there is without.
func (b *builtin) directories() (list []fs.Root, err error) {
	given := b.roots
	if given == nil {
		given = []string{"."}
	}
	for _, s := range given {
		root, err := fs.ParseRoot(s)
		if err != nil {
			return nil, usagef("%v", err)
		}
		list = append(list, root)
	}
	return list, nil
}

// writable are the roots in which clients may change files, unless they may run any program and so
// change all files.
func (b *builtin) writable() writableRoots {
	if !b.write || b.exec && b.allow == nil || b.eval {
		return nil
	}
	list, _ := b.directories() // an error was told when they were opened
	var dirs []string
	for _, root := range list {
		dirs = append(dirs, root.Dir)
	}
	return openWritable(dirs)
}

// open makes the catalog, with these gates open beside those that the flags open. Closing is the
// caller's.
func (b *builtin) open(log *slog.Logger, gates ...dispatch.Gate) (*offer, error) {
	if b.eval && !proc.HasEval {
		return nil, usagef("--allow-eval: proc.eval runs scripts by sh, which this system does not " +
			"have; leave it out, and offer programs with --allow-exec")
	}
	list, err := b.directories()
	if err != nil {
		return nil, err
	}
	for _, g := range []struct {
		open bool
		gate dispatch.Gate
	}{{b.write, dispatch.GateWrite}, {b.exec, dispatch.GateExec}, {b.eval, dispatch.GateEval}} {
		if g.open {
			gates = append(gates, g.gate)
		}
	}
	o := &offer{catalog: dispatch.NewCatalog(gates...)}
	if o.roots, err = fs.OpenRoots(list); err != nil {
		return nil, usagef("%v", err)
	}
	if err = fs.Register(o.catalog, o.roots); err == nil {
		o.procs, err = proc.Register(o.catalog, proc.Options{Roots: o.roots, Allow: b.allow, Logger: log})
	}
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

const endWithin = 5 * time.Second // for processes that were started

// close ends what was started, and closes the roots.
func (o *offer) close() error {
	var err error
	if o.procs != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endWithin)
		defer cancel()
		err = o.procs.Shutdown(ctx)
	}
	if o.roots != nil {
		err = errors.Join(err, o.roots.Close())
	}
	return err
}

func (b *builtin) options(log *slog.Logger) server.Options {
	o := server.Options{Logger: log, Instructions: b.instructions(), TrustClients: b.confirm == "trust"}
	if b.tools == "service" {
		o.Tools = server.ToolPerService
	}
	return o
}

// instructions tell a model what it cannot see in the tools.
func (b *builtin) instructions() string {
	text := []string{"Paths are relative to a root directory; nothing outside of it can be reached by fs operations."}
	if !b.write {
		text = append(text, "Files can be read but not changed.")
	}
	if b.exec {
		text = append(text, "Programs that are started with proc_start live on until they end, proc_stop, or the end of this connection.")
	}
	return strings.Join(text, " ")
}

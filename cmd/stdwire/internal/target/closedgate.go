package target

import (
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// ClosedGate returns the flag with which stdwire's own server would offer the operation, service or
// tool of that name, or "" if it needs none or is offered already. known reports whether the server
// has it at all.
func (b *BuiltinFlags) ClosedGate(name string) (flag string, known bool) {
	all := &BuiltinFlags{Roots: b.Roots, allow: b.allow}
	o, err := all.Open(slog.New(slog.DiscardHandler), dispatch.GateWrite, dispatch.GateExec,
		dispatch.GateEval)
	if err != nil {
		return "", false
	}
	defer o.Close()
	gates := []struct {
		gate dispatch.Gate
		open bool
		flag string
	}{{"", true, ""}, {dispatch.GateWrite, b.Write, "--write"},
		{dispatch.GateExec, b.Exec, "--allow-exec"}, {dispatch.GateEval, b.Eval, "--allow-eval"}}
	for _, g := range gates {
		for _, op := range o.Catalog.Operations() {
			if op.Spec().Gate != g.gate || !strings.HasPrefix(op.Name()+".", name+".") &&
				strings.ReplaceAll(op.Name(), ".", "_") != name {
				continue
			}
			if g.open {
				return "", true
			}
			return g.flag, true
		}
	}
	return "", false
}

package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

// Operations that are not there yet are found when a command line names none that is, and only
// then.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		args, asked string
		code        int
		out, err    string // how they begin
	}{
		{"note add --title x", "", 0, "", ""},
		{"note.archive.old --yes", "", 0, "", ""},
		{"note add more --title x", "", 2, "",
			"notes: note add: invalid_input: unexpected argument"},
		{"note archive -o text", "", 2, "",
			"notes: note archive: missing_param: more of the operation's name is missing"},
		{"test later", "test later", 0, "too\n", ""},
		{"test never", "test never", 5, "",
			"notes: test never: unknown_operation: there is no such operation"},
		{"late come", "late come", 0, "here\n", ""},
		{"late.come", "late.come", 0, "here\n", ""},
		{"LATE come", "LATE come", 0, "here\n", ""},
		{"late --help", "late", 0, "usage: notes late OPERATION", ""},
		{"late come --help", "late come", 0, "usage: notes late come ", ""},
		{"late go", "late go", 5, "",
			"notes: late go: unknown_operation: there is no such operation; did you mean late come?"},
		{"refused x", "refused x", 7, "", "notes: refused x: permission_denied: not you\n"},
		{"refused x -o json", "refused x", 7, "",
			`{"success":false,"data":null,"error":{"code":"permission_denied","message":"not you",`},
		{"refused --help", "refused", 7, "", "notes: refused: permission_denied: not you\n"},
		{"nobody x", "nobody x", 5, "", "notes: nobody x: unknown_operation: "},
		{"__complete late ", "late", 0, "come\tCome late\n", ""},
		{"__complete refused ", "refused", 0, "", ""},
		{"--help", "", 0, "usage: notes OPERATION", ""},
		{"completion bash", "", 0, "", ""},
		{"-o json", "", 2, "", `{"success":false,`},
	} {
		asked := []string{}
		catalog := notesCatalog()
		find := func(std *cli.IO) {
			add := func(name, gives string) {
				dispatch.Add(catalog,
					dispatch.Spec{Name: name, Summary: "Come late.", Type: dispatch.Read},
					func(context.Context, struct{}) (string, error) {
						return gives, nil
					})
			}
			std.Find = func(words []string) ([]string, error) {
				asked = append(asked, strings.Join(words, " "))
				switch words[0] = strings.ToLower(words[0]); words[0] {
				case "late", "late.come":
					add("late.come", "here")
				case "test":
					add("test.later", "too")
				case "refused":
					return nil, dispatch.Errorf(dispatch.PermissionDenied, "not you")
				}
				return words, nil
			}
		}
		args := strings.Fields(c.args)
		if strings.HasSuffix(c.args, " ") {
			args = append(args, "")
		}
		r := runOn(t, catalog, find, args...)
		assert.Equal(t, strings.Join(asked, "|"), c.asked, c.args)
		assert.Equal(t, r.code, c.code, "%s: %s", c.args, r.err)
		assert.Assert(t, strings.HasPrefix(r.out, c.out) && strings.HasPrefix(r.err, c.err) &&
			(r.err == "") == (c.err == ""), "%s: %s%s", c.args, r.out, r.err)
	}
}

// Who shows results itself is asked for those that are text, and whatever is not shown is shown as
// ever.
func TestShow(t *testing.T) {
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{`test print --data:="mine"`, 0, "shown \"mine\"\n", ""},
		{`test print --data:="mine" -o json`, 0, `{"success":true,"data":"mine","error":null}` +
			"\n", ""},
		{`test print --data:="yours"`, 0, "yours\n", ""},
		{`test print --data:="broken"`, 1, "", "notes: test print: internal_error: no paper\n"},
		{`test fail --code not_found --message mine`, 5, "", "notes: test fail: not_found: mine\n"},
	} {
		r := run(t, func(std *cli.IO) {
			std.Show = func(op *dispatch.Operation, e dispatch.Envelope) (bool, error) {
				switch {
				case op.Name() != "test.print":
					t.Error(op.Name())
				case string(e.Data) == `"mine"`:
					fmt.Fprintf(std.Out, "shown %s\n", e.Data)
					return true, nil
				case string(e.Data) == `"broken"`:
					return false, fmt.Errorf("no paper")
				}
				return false, nil
			}
		}, strings.Fields(c.args)...)
		assert.Equal(t, r.code, c.code)
		assert.Equal(t, r.out, c.out)
		assert.Equal(t, r.err, c.err)
	}
}

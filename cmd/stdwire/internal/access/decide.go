package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// questionKey begins the key of the question of a rule that asks; the kind of the item follows,
// because a tool may be asked about that reads a resource which is asked about too.
const questionKey = "stdwire/policy/"

// A denial is why a call is refused: for its caller, so that it names no rule.
type denial string

func (d denial) Error() string { return string(d) }

// decide returns nil if the rules allow a call, after its client's user has been asked if they say
// so. Otherwise it returns a denial, [dispatch.NotFound] for what the caller shall not know of, or
// the error of a question that waits for its answer.
func (r *Rules) decide(ctx context.Context, p *policy.Policy, item policy.Item,
	i *dispatch.Invocation) error {
	d := p.Decide(Caller(ctx), item, i.Arguments)
	if d.Effect == policy.Allow {
		return nil
	}
	if r.DryRun {
		r.refused(ctx, "the policy would refuse this call", item, &d)
		return nil
	}
	if d.Effect == policy.Ask {
		return r.ask(ctx, i.Kind, item, &d)
	}
	r.refused(ctx, "the policy refuses a call", item, &d)
	if d.Pointer == "" {
		return dispatch.NotFound
	}
	return denial(fmt.Sprintf("the policy does not permit its argument %s%s", d.Pointer, reason(&d)))
}

// reason returns what a rule says to those whom it concerns, after a colon.
func reason(d *policy.Decision) string {
	if d.Rule == nil || d.Rule.Reason == "" || d.Effect == policy.Deny &&
		d.Rule.Effect != policy.Deny {
		return ""
	}
	return ": " + d.Rule.Reason
}

var emptyForm = json.RawMessage(`{"type":"object","properties":{}}`)

// ask asks the client's user whether a call may be made.
func (r *Rules) ask(ctx context.Context, kind string, item policy.Item, d *policy.Decision) error {
	answer, err := server.Elicit(ctx, questionKey+kind, mcp.ElicitParams{
		Message:         fmt.Sprintf("May %q of %q be used?%s", item.Name, item.Server, sentence(d)),
		RequestedSchema: emptyForm})
	switch {
	case errors.Is(err, server.ErrNoRequest), errors.Is(err, server.ErrUnsupported):
		r.refused(ctx, "the policy refuses a call, because nobody can be asked", item, d)
		return denial("the policy demands that a user is asked, and this client cannot ask one" +
			reason(d))
	case err != nil:
		return err
	case answer.Action != mcp.ElicitAccept:
		r.refused(ctx, "the user refuses a call", item, d)
		return denial("the user did not permit it")
	}
	return nil
}

func sentence(d *policy.Decision) string {
	if d.Rule == nil || d.Rule.Reason == "" {
		return ""
	}
	return " " + d.Rule.Reason
}

// operationError returns an error of decide as that of an operation.
func operationError(err error) error {
	if err == error(dispatch.NotFound) {
		return dispatch.Errorf(dispatch.UnknownOperation, "There is no operation of that name.")
	}
	if d, ok := errors.AsType[denial](err); ok {
		return dispatch.Errorf(dispatch.PermissionDenied, "%s", string(d))
	}
	return err
}

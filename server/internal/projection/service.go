package projection

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

const (
	actionHelp   = "help"
	actionSchema = "schema"
)

// A Service holds the operations of one tool.
type Service struct {
	Name     string
	byAction map[string]*dispatch.Operation
	actions  []string // sorted, without help and schema
}

// GroupByService groups operations by service. rest are the operations without a dot in their
// names.
func GroupByService(operations []*dispatch.Operation) (all []*Service, rest []*dispatch.Operation) {
	for _, op := range operations { // sorted by name
		service, action, _ := strings.Cut(op.Name(), ".")
		if action == "" {
			rest = append(rest, op)
			continue
		}
		i := slices.IndexFunc(all, func(s *Service) bool { return s.Name == service })
		if i < 0 {
			i = len(all)
			all = append(all, &Service{Name: service, byAction: map[string]*dispatch.Operation{}})
		}
		all[i].byAction[action] = op
		all[i].actions = append(all[i].actions, action)
	}
	return all, rest
}

// Operations returns the operations of the service.
func (s *Service) Operations() iter.Seq[*dispatch.Operation] { return maps.Values(s.byAction) }

// actionNames returns all values of the argument "action".
func (s *Service) actionNames() []string {
	all := slices.Clone(s.actions)
	for _, name := range []string{actionHelp, actionSchema} {
		if s.byAction[name] == nil {
			all = append(all, name)
		}
	}
	return all
}

// Definition returns the entry of the service's tool in tools/list.
func (s *Service) Definition() []byte {
	var text strings.Builder
	fmt.Fprintf(&text,
		"Operations of %s. The action is what to do and params are its arguments; the action %s with params {\"action\":…} explains one, %s has its JSON Schemas.\n\nActions:",
		s.Name, actionHelp, actionSchema)
	all := annotations{ReadOnly: true, Idempotent: true}
	for _, action := range s.actions {
		op := s.byAction[action]
		fmt.Fprintf(&text, "\n- %s: %s", action, op.Spec().Summary)
		a := annotationsOf(op)
		all.ReadOnly = all.ReadOnly && a.ReadOnly
		all.Idempotent = all.Idempotent && a.Idempotent
		all.Destructive = all.Destructive || a.Destructive
		all.OpenWorld = all.OpenWorld || a.OpenWorld
	}
	choices, _ := json.Marshal(s.actionNames()) // strings can be encoded
	input := `{"type":"object","properties":{"action":{"type":"string","description":"What to do.","enum":` +
		string(choices) +
		`},"params":{"type":"object","description":"The arguments of the action."}},"required":["action"],"additionalProperties":false}`
	return toolDefinition{Name: s.Name, Description: text.String(), Input: json.RawMessage(input),
		Output: envelopeSchema(nil), Annotations: all}.encode()
}

// Route returns the operation that a call selects, with its arguments. For help, schema and invalid
// calls it returns a nil operation and the answer.
func (s *Service) Route(arguments []byte) (op *dispatch.Operation, params json.RawMessage,
	answer dispatch.Envelope) {
	action, params, err := s.parseArguments(arguments)
	if err != nil {
		return nil, nil, dispatch.Envelope{Err: err}
	}
	if op := s.byAction[action]; op != nil {
		return op, params, answer
	}
	switch action {
	case actionHelp, actionSchema:
		return nil, nil, s.describe(action, params)
	}
	return nil, nil, dispatch.Envelope{Err: s.unknownAction(action)}
}

func (s *Service) unknownAction(action string) *dispatch.Error {
	return dispatch.Errorf(dispatch.UnknownOperation, "%s has no action %.100q; it has %s", s.Name,
		action, strings.Join(s.actionNames(), ", ")).
		With(map[string]any{"actions": s.actionNames()})
}

// parseArguments parses {"action":"…","params":{…}}.
func (s *Service) parseArguments(arguments []byte) (action string, params json.RawMessage,
	err *dispatch.Error) {
	if len(arguments) > 0 && arguments[0] != '{' && string(arguments) != "null" {
		return "", nil, dispatch.InvalidArgument("", "must be an object")
	}
	var token json.RawMessage
	for name, value := range jsonscan.Named(arguments) {
		slot := map[string]*json.RawMessage{"action": &token, "params": &params}[name]
		switch {
		case slot == nil:
			return "", nil, dispatch.InvalidArgument("/"+name,
				"is unknown here; the action's arguments belong in params")
		case *slot != nil:
			return "", nil, dispatch.InvalidArgument("/"+name, "occurs twice")
		}
		*slot = value
	}
	if token == nil {
		return "", nil, dispatch.MissingArgument("action", "it is one of %s",
			strings.Join(s.actionNames(), ", "))
	}
	action, ok := jsonscan.Text(token)
	if !ok {
		return "", nil, dispatch.InvalidArgument("/action", "must be a string")
	}
	return action, params, nil
}

// An actionInfo is the result of help and schema for one action.
type actionInfo struct {
	Action      string             `json:"action"`
	Title       string             `json:"title,omitempty"`
	Summary     string             `json:"summary,omitempty"`
	Description string             `json:"description,omitempty"`
	Examples    []dispatch.Example `json:"examples,omitempty"`
	Input       json.RawMessage    `json:"input,omitempty"`
	Output      json.RawMessage    `json:"output,omitempty"`
}

// describe answers help and schema: for the action that params name, or for all actions.
func (s *Service) describe(how string, params json.RawMessage) dispatch.Envelope {
	action, err := s.describedAction(params)
	if err != nil {
		return dispatch.Envelope{Err: err}
	}
	about := s.actions
	if action != "" {
		about = []string{action}
	}
	list := []actionInfo{}
	for _, name := range about {
		op := s.byAction[name]
		spec := op.Spec()
		e := actionInfo{Action: name}
		switch {
		case how == actionSchema:
			e.Input, e.Output = spec.Input, spec.Output
		case action == "":
			e.Title, e.Summary = spec.Title, spec.Summary
		default:
			e.Title, e.Summary, e.Description, e.Examples, e.Input = spec.Title, spec.Summary,
				op.Description(), spec.Examples, spec.Input
		}
		list = append(list, e)
	}
	// cannot fail: schemas and examples were compiled
	data, _ := json.Marshal(map[string]any{"service": s.Name, "actions": list})
	return dispatch.Envelope{Data: data}
}

func (s *Service) describedAction(params json.RawMessage) (action string, err *dispatch.Error) {
	if len(params) > 0 && params[0] != '{' && string(params) != "null" {
		return "", dispatch.InvalidArgument("/params", "must be an object")
	}
	for name, value := range jsonscan.Members(params) {
		if !jsonscan.KeyIs(name, "action") {
			return "", dispatch.InvalidArgument("/params", `takes "action" and nothing else`)
		}
		text, ok := jsonscan.Text(value)
		if !ok {
			return "", dispatch.InvalidArgument("/params/action", "must be a string")
		}
		if s.byAction[text] == nil {
			return "", s.unknownAction(text)
		}
		action = text
	}
	return action, nil
}

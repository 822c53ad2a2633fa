package policycmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/policy"
)

// A question is about the use of an item by a caller: of a call with arguments, or, without, of
// lists.
type question struct {
	As        json.RawMessage `json:"as"` // the claims of the caller; absent or {}: he is unknown
	Profile   string          `json:"profile"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Prompt    string          `json:"prompt"`
	Resource  string          `json:"resource"`
	Kind      string          `json:"kind"` // of a tool; "": destructive, as without hints
	Closed    bool            `json:"closedWorld"`
	Arguments json.RawMessage `json:"arguments"`
}

var risks = map[string]policy.Risk{"": policy.Destructive, "read": policy.Read,
	"write": policy.Write, "destructive": policy.Destructive}

// ask returns the decision of the rules. shown says whether lists have the item.
func (q *question) ask(p *policy.Policy) (d policy.Decision, shown bool, err error) {
	caller, err := callerOf(q.As)
	if err != nil {
		return d, false, err
	}
	caller.Profile = q.Profile
	item := policy.Item{Server: q.Server}
	named := 0
	for kind, name := range [...]string{policy.Tool: q.Tool, policy.Prompt: q.Prompt,
		policy.Resource: q.Resource} {
		if name != "" {
			named++
			item.Kind, item.Name = policy.ItemKind(kind), name
		}
	}
	if named != 1 || q.Server == "" {
		return d, false, errors.New("it needs a server, and one of tool, prompt and resource")
	}
	risk, ok := risks[q.Kind]
	if !ok {
		return d, false, fmt.Errorf("the kind %.40q is none of read, write and destructive", q.Kind)
	}
	if item.Kind == policy.Tool {
		item.Risk, item.Open = risk, !q.Closed
	}
	d = p.Shows(caller, item)
	shown = d.Effect != policy.Deny
	if q.Arguments != nil {
		if !bytes.HasPrefix(bytes.TrimSpace(q.Arguments), []byte("{")) {
			return d, shown, errors.New("the arguments are not a JSON object")
		}
		d = p.Decide(caller, item, q.Arguments)
	}
	return d, shown, nil
}

// callerOf reads the claims of a token, as JSON: sub, iss, client_id or azp, groups, scope or scp,
// and any others.
func callerOf(claims json.RawMessage) (*policy.Caller, error) {
	c := new(policy.Caller)
	if len(claims) == 0 {
		return c, nil
	}
	if err := jsonexact.Unmarshal(claims, &c.Claims); err != nil {
		return nil, fmt.Errorf("the claims of a caller are not a JSON object: %w", err)
	}
	c.Known = len(c.Claims) > 0
	for _, text := range []struct {
		to    *string
		names []string
	}{{&c.Subject, []string{"sub"}}, {&c.Issuer, []string{"iss"}},
		{&c.ClientID, []string{"client_id", "azp"}}} {
		for _, name := range text.names {
			if raw := c.Claims[name]; raw != nil && *text.to == "" {
				var ok bool
				if *text.to, ok = jsonscan.Text(raw); !ok {
					return nil, fmt.Errorf("the claim %s is not a text", name)
				}
			}
		}
	}
	for _, list := range []struct {
		to    *[]string
		names []string
	}{{&c.Groups, []string{"groups"}}, {&c.Scopes, []string{"scope", "scp"}}} {
		for _, name := range list.names {
			raw := c.Claims[name]
			if raw == nil || *list.to != nil {
				continue
			}
			if text, ok := jsonscan.Text(raw); ok && name == "groups" {
				*list.to = []string{text}
			} else if ok {
				*list.to = strings.Fields(text)
			} else if err := jsonexact.Unmarshal(raw, list.to); err != nil {
				return nil, fmt.Errorf("the claim %s is neither a text nor an array of texts", name)
			}
		}
	}
	return c, nil
}

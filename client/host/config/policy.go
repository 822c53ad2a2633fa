package config

import (
	"errors"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/policy"
)

// readPolicy reads the rules about who may do what. Rules that cannot be used make the file
// unusable: without them, everybody could do everything.
func (r *reader) readPolicy(root jsonedit.Value) {
	table, ok := root.Member("policy")
	if !ok {
		return
	}
	_, hasRules := table.Member("rules")
	switch {
	case r.file.Keys == "" && hasRules:
		r.errorf(table.Start,
			"the file has a policy and no servers: name it with --policy, or move the policy to the file of the servers")
	case !r.isNative && hasRules:
		r.errorf(table.Start,
			"the servers of the file are in the form of another application, which has no policy: put the policy into a file of its own for --policy")
	case r.isNative:
		r.file.policyAt = r.position(table.Start)
		var err error
		if r.file.Policy, err = policy.Parse(table); err != nil {
			r.reportPolicy(err)
		}
	}
}

// reportPolicy reports the problems of a table.
func (r *reader) reportPolicy(err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if e, ok := errors.AsType[*jsonedit.Error](err); ok {
			r.file.Diagnostics = append(r.file.Diagnostics,
				Diagnostic{Position: Position{e.Name, e.Line, e.Column}, Severity: SeverityError,
					Message: "policy: " + e.Reason})
		}
	}
}

// policySchema returns the schema of a table of rules.
func policySchema() object {
	text := object{"type": "string", "minLength": 1, "maxLength": 1024}
	scalar := object{"type": []string{"string", "number", "boolean", "null"}}
	claim := closed(object{"type": "object", "required": []string{"claim"},
		"properties": object{"claim": text}})
	texts := anyOf(text, object{"type": "array", "minItems": 1, "maxItems": 1000, "items": text})
	value := func(constant object) object { return anyOf(constant, claim) }
	condition := object{"type": "object", "minProperties": 1, "additionalProperties": false,
		"properties": object{"default": scalar, "eq": value(scalar), "contains": value(scalar),
			"in": value(object{"type": "array", "minItems": 1, "maxItems": 1000,
				"items": scalar}),
			"prefix": value(text), "glob": value(text)}}
	for _, name := range []string{"lt", "le", "gt", "ge"} {
		condition["properties"].(object)[name] = value(object{"type": "number"})
	}
	conditions := object{"type": "object", "minProperties": 1, "maxProperties": 1000,
		"additionalProperties": condition}
	arguments := object{"type": "object", "minProperties": 1, "maxProperties": 1000,
		"propertyNames": object{"pattern": "^/"}, "additionalProperties": condition}
	who := func() object {
		properties := object{"claims": conditions}
		for _, name := range []string{"issuer", "subject", "group", "scope", "client", "profile"} {
			properties[name] = texts
		}
		return closed(object{"type": "object", "properties": properties})
	}
	unless := who()
	unless["minProperties"] = 1
	unless["properties"].(object)["arguments"] = arguments
	kind := object{"enum": []string{"read", "write", "destructive", "open-world"}}
	what := closed(object{"type": "object", "properties": object{"server": texts, "tool": texts,
		"prompt": texts, "resource": texts,
		"kind": anyOf(kind, object{"type": "array", "minItems": 1, "items": kind})}})
	rule := closed(object{"type": "object", "required": []string{"effect"},
		"properties": object{"effect": object{"enum": []string{"allow", "ask", "deny", "hide"}},
			"who": who(), "unless": unless, "what": what, "arguments": arguments, "reason": text}})
	return closed(object{"type": "object", "required": []string{"rules"},
		"properties": object{"default": object{"enum": []string{"allow", "deny"}},
			"rules": object{"type": "array", "maxItems": policy.MaxRules, "items": rule}}})
}

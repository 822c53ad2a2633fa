package policy

// Schema returns the JSON Schema (2020-12) of a table of rules. It cannot reject some that Parse
// rejects, such as duplicate members, wrong escapes in pointers, and too many different pointers.
func Schema() map[string]any {
	type object = map[string]any
	anyOf := func(all ...object) object { return object{"anyOf": all} }
	closed := func(s object) object {
		s["additionalProperties"] = false
		return s
	}
	text := object{"type": "string", "minLength": 1, "maxLength": maxText}
	scalar := object{"type": []string{"string", "number", "boolean", "null"}}
	claim := closed(object{"type": "object", "required": []string{"claim"},
		"properties": object{"claim": text}})
	texts := anyOf(text, object{"type": "array", "minItems": 1, "maxItems": maxList, "items": text})
	value := func(constant object) object { return anyOf(constant, claim) }
	condition := object{"type": "object", "minProperties": 1, "additionalProperties": false,
		"properties": object{"default": scalar, "eq": value(scalar), "contains": value(scalar),
			"in": value(object{"type": "array", "minItems": 1, "maxItems": maxList,
				"items": scalar}),
			"prefix": value(text), "glob": value(text)}}
	for _, name := range []string{"lt", "le", "gt", "ge"} {
		condition["properties"].(object)[name] = value(object{"type": "number"})
	}
	conditions := object{"type": "object", "minProperties": 1, "maxProperties": maxList,
		"additionalProperties": condition}
	arguments := object{"type": "object", "minProperties": 1, "maxProperties": maxList,
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
			"rules": object{"type": "array", "maxItems": MaxRules, "items": rule}}})
}

package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// A valueType is a type of the values of a member: for people, and as a JSON Schema that accepts
// whatever the parser accepts.
type valueType struct {
	name   string
	schema object
}

// An object is a JSON Schema or a part of one.
type object map[string]any

// scalar is the schema of a string for which the parser also accepts a number or a boolean.
var scalar = object{"type": []string{"string", "number", "boolean"}}

var textLimit = anyOf(object{"const": 0}, integer(minTextLimit, maxSize))

var (
	textType  = valueType{"text", object{"type": "string"}}
	textsType = valueType{"array of texts", object{"type": "array", "items": scalar}}
	boolType  = valueType{"true or false", object{"type": "boolean"}}

	commandType = valueType{"text, or array of texts", anyOf(object{"type": "string"},
		object{"type": "array", "items": scalar, "minItems": 1,
			"prefixItems": []object{{"not": object{"const": ""}}}},
		object{"type": "object", "required": []string{"path"}, // the older form of Zed
			"properties": object{"path": not(object{"const": ""})}})}
	envType = valueType{"object of texts", object{"type": "object",
		"propertyNames": pattern(`^[^=\u0000]+$`), "additionalProperties": scalar}}
	headersType = valueType{"object of texts", object{"type": "object",
		"propertyNames":        pattern(`^[!#-'*+.0-9A-Z^-z|~-]+$`),
		"additionalProperties": scalar}}
	inheritEnvType = valueType{"true or false, or array of names", anyOf(object{"type": "boolean"},
		object{"type": "array", "items": anyOf(object{"type": []string{"number", "boolean"}},
			object{"type": "string", "minLength": 1})})}
	variableNamesType = valueType{"array of names", object{"type": "array", "items": anyOf(
		object{"type": "string"}, object{"type": "object", "required": []string{"name"}})}}
	urlType = valueType{"URL", object{"type": "string",
		"pattern": `^$|\$\{|\{env:|^[hH][tT][tT][pP][sS]?://[^/?#]`}}
	transportType = valueType{"stdio, local, http, streamable-http, remote or sse",
		anyOf(object{"enum": []string{"stdio", "local", "http", "streamable-http", "remote", "sse"}},
			transportPattern(stdioTransport, httpTransport))}
	eraType = valueType{"auto, modern or legacy",
		object{"enum": []string{"auto", "modern", "legacy"}}}

	cacheScopeType = valueType{"private or public", object{"enum": []string{"private", "public"}}}

	millisecondsType = valueType{"milliseconds, at most 30 days; 0: no limit",
		integer(0, maxTime.Milliseconds())}
	secondsType = valueType{"seconds, at most 30 days; 0: no limit",
		object{"type": "number", "minimum": 0, "maximum": maxTime.Seconds()}}
	timeoutType = valueType{"whole number; 0: no limit", integer(0, int64(maxTime))}
	bytesType   = valueType{"bytes, from 1 to 1 GiB", integer(1, maxSize)}
	// fewer than the least could not hold the note about what is left out
	textLimitsType = valueType{"characters, at least 2000, or 0, or object of them by tool",
		anyOf(textLimit, object{"type": "object", "additionalProperties": textLimit})}
	resultCharsType = valueType{"characters, from 1 to 500000", integer(1, maxResultChars)}

	portType     = valueType{"port", integer(1, math.MaxUint16)}
	durationType = valueType{`duration such as "10m" or "1h30m", at most 30 days; 0: never`,
		anyOf(object{"const": 0}, object{"type": "string",
			"pattern": `^([-+]?0|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`})}

	patternsType = valueType{"array of patterns", object{"type": "array",
		"items": anyOf(object{"type": []string{"number", "boolean"}},
			object{"type": "string", "pattern": `^[^\[\]{}\\]+$`})}}
	toolFilterType = valueType{"object {mode, list}", object{"type": "object",
		"properties": object{"mode": object{"enum": []string{"allow", "block"}},
			"list": patternsType.schema},
		"required": []string{"mode", "list"}}}
	toolsType = valueType{"array of patterns, or object",
		anyOf(patternsType.schema, reference("tools"))}
	overridesType   = valueType{"object by names", reference("overrides")}
	annotationsType = valueType{"object of true or false", hintsSchema()}
	argumentsType   = valueType{"object by names",
		object{"type": "object", "additionalProperties": reference("argument")}}
	offeredType = valueType{"text", object{"type": "string", "pattern": offeredPattern}}
	jsonType    = valueType{"any value", object{}}

	optionsType = valueType{"object", reference("options")}

	oauthType = valueType{"true or false, or object",
		anyOf(object{"type": "boolean"}, reference("oauth"))}
	credentialsType = valueType{"object", reference("credentials")}
	headerNamesType = valueType{"object of names of headers", object{"type": "object",
		"minProperties": 1, "propertyNames": pattern(headerNamePattern),
		"additionalProperties": object{"type": "string",
			"pattern": headerNamePattern, "not": pattern(ownHeaderPattern)}}}
	userVariablesType = valueType{"object of values by variables", object{"type": "object",
		"minProperties": 1, "propertyNames": pattern(userVariablePattern),
		"additionalProperties": object{"type": "string", "pattern": userValuePattern}}}
	clientAuthType = valueType{strings.Join(clientAuthMethods, ", "),
		object{"enum": clientAuthMethods}}
	scopeType = valueType{"text, or array of texts", anyOf(object{"type": "string"},
		textsType.schema)}
	grantType = valueType{authorizationCode + " or " + clientCredentials,
		object{"enum": []string{authorizationCode, clientCredentials}}}
)

func anyOf(all ...object) object   { return object{"anyOf": all} }
func pattern(p string) object      { return object{"pattern": p} }
func reference(name string) object { return object{"$ref": "#/$defs/" + name} }
func integer(least, most int64) object {
	return object{"type": "integer", "minimum": least, "maximum": most}
}

// transportPattern returns a schema that matches the names of these transports, in any case and
// with separators anywhere.
func transportPattern(transports ...transport) object {
	var names []string
	for name, t := range transportNames {
		if slices.Contains(transports, t) {
			names = append(names, regexp.MustCompile(`[a-z]`).ReplaceAllStringFunc(name,
				func(c string) string { return "[" + c + strings.ToUpper(c) + "][-_+]*" }))
		}
	}
	slices.Sort(names)
	return object{"type": "string",
		"pattern": fmt.Sprintf(`^[-_+]*(%s)$`, strings.Join(names, "|"))}
}

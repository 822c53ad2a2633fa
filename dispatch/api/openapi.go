package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// An object is a JSON object of the document. It is encoded with sorted keys, so that equal
// catalogs give equal bytes.
type object = map[string]any

// A description builds an OpenAPI document.
type description struct {
	*handler
	paths, schemas object
}

// openAPI describes the handler (OpenAPI Specification 3.1.1).
func (h *handler) openAPI(operations []*dispatch.Operation) []byte {
	d := &description{handler: h, paths: object{}, schemas: object{
		"failure": envelopeSchema(false, object{"type": "null"}, object{
			"type": "object", "additionalProperties": false,
			"required": []string{"code", "message", "details", "recoverable"},
			"properties": object{
				"code": object{"type": "string",
					"description": "What kind of failure it is, to branch on."},
				"message": object{"type": "string"},
				"details": object{
					"description": "What is to be known beyond the message; null if nothing."},
				"recoverable": object{"type": "boolean",
					"description": "Whether the caller can get on by changing something and calling again."},
			},
		}),
		"meta": object{
			"type": "object",
			"properties": object{
				"session_id": object{"type": "string",
					"description": "The session that the call ran in."},
				"original": object{
					"description": "What the data is taken from, if that says more."},
			},
		},
	}}
	services := map[string][]*dispatch.Operation{}
	for _, op := range operations {
		service, _, _ := strings.Cut(op.Name(), ".")
		services[service] = append(services[service], op)
	}
	for name, its := range services {
		d.path(name)["post"] = d.service(name, its)
	}
	arrayOfObjects := object{"type": "array", "items": object{"type": "object"}}
	d.path("manifest")["get"] = d.document("manifest.get",
		"All operations, with their schemas, and all codes.", object{
			"type": "object", "required": []string{"operations", "codes"},
			"properties": object{"operations": arrayOfObjects, "codes": arrayOfObjects},
		})
	d.path("openapi.json")["get"] = d.document("openapi.get", "This document.",
		object{"type": "object"})

	components := object{"schemas": d.schemas}
	document := object{
		"openapi": "3.1.1",
		"info":    object{"title": h.o.Title, "version": h.o.Version},
		"paths":   d.paths, "components": components,
	}
	if h.o.Principal != nil {
		components["securitySchemes"] = object{"bearer": object{"type": "http", "scheme": "bearer"}}
		document["security"] = []object{{"bearer": []string{}}}
	}
	text, err := jsonexact.Marshal(document)
	if err != nil {
		// all schemas and examples were compiled
		panic("api: the OpenAPI document cannot be encoded: " + err.Error())
	}
	return text
}

// path returns the path item for a name below the root, which a service and a document may share.
func (d *description) path(name string) object {
	item, ok := d.paths[root+name].(object)
	if !ok {
		item = object{}
		d.paths[root+name] = item
	}
	return item
}

// service describes POST of a service. The name of a component is that of the operation, which is
// valid in OpenAPI, and one word more, so that the names differ.
func (d *description) service(name string, operations []*dispatch.Operation) object {
	var calls, results []object
	actions, examples, choose := object{}, object{}, len(operations) > 1
	list := "Calls one of the operations:\n"
	for _, op := range operations {
		_, action, _ := strings.Cut(op.Name(), ".")
		call := d.component(op.Name()+".call", d.call(op, action))
		calls = append(calls, call)
		results = append(results, d.component(op.Name()+".result", d.result(op)))
		actions[action] = call["$ref"]
		choose = choose && action != "" // a discriminator must be there
		list += "\n- `" + op.Name() + "`: " + op.Spec().Summary
		for i, example := range op.Spec().Examples {
			body := object{"params": example.Input}
			if action != "" {
				body["action"] = action
			}
			examples[op.Name()+"."+strconv.Itoa(i+1)] = object{"summary": example.Summary,
				"value": body}
		}
	}
	body := object{"schema": oneOf("oneOf", calls)}
	if choose {
		body["schema"] = object{"oneOf": calls,
			"discriminator": object{"propertyName": "action", "mapping": actions}}
	}
	if len(examples) > 0 {
		body["examples"] = examples
	}
	responses := d.failures(operations)
	responses["200"] = jsonResponse("The operation succeeded.", oneOf("anyOf", results))
	return object{
		"operationId": name, "summary": "Call the service " + name + ".", "description": list,
		"requestBody": object{"required": true, "content": object{"application/json": body}},
		"responses":   responses,
	}
}

// call is the schema of a body that calls an operation, the action of its service.
func (d *description) call(op *dispatch.Operation, action string) object {
	spec := op.Spec()
	input := op.Name() + ".input"
	properties := object{"action": object{"const": action},
		"params": d.component(input, d.relocated(input, spec.Input))}
	required := []string{}
	if action != "" {
		required = append(required, "action")
	}
	if its, err := schema.Compile(spec.Input); err != nil ||
		its.ValidateScanned([]byte("{}")) != nil {
		required = append(required, "params")
	}
	for _, s := range selectors {
		if s.takes(op) {
			properties[s.name] = object{"type": "string",
				"description": "Stands for the argument of the same name."}
		}
	}
	if op.Destructive() {
		properties["confirm"] = object{"type": "boolean",
			"description": "That this cannot be undone is known, and wanted. Otherwise the answer may be confirmation_required."}
	}
	call := object{
		"type": "object", "description": op.Description(), "properties": properties,
		"required": required, "additionalProperties": false,
		"x-kind": spec.Type, "x-destructive": op.Destructive(), "x-idempotent": spec.Idempotent,
		"x-open-world": spec.OpenWorld,
	}
	if spec.Title != "" {
		call["title"] = spec.Title
	}
	if spec.Gate != "" {
		call["x-gate"] = spec.Gate
	}
	return call
}

// result is the schema of the envelope of an operation that succeeded.
func (d *description) result(op *dispatch.Operation) object {
	data := object{}
	if output := op.Spec().Output; output != nil {
		data = d.component(op.Name()+".output", d.relocated(op.Name()+".output", output))
	}
	return envelopeSchema(true, data, object{"type": "null"})
}

func envelopeSchema(success bool, data, failure object) object {
	return object{
		"type": "object", "required": []string{"success", "data", "error"},
		"additionalProperties": false,
		"properties": object{"success": object{"const": success}, "data": data,
			"error": failure, "_meta": refTo("meta")},
	}
}

// component adds a schema and returns the reference to it.
func (d *description) component(name string, schema any) object {
	d.schemas[name] = schema
	return refTo(name)
}

const components = "/components/schemas/"

func refTo(name string) object { return object{"$ref": pointTo(components + name)} }

// relocated returns a schema of an operation, rewritten for the component of that name.
func (d *description) relocated(name string, text json.RawMessage) any {
	if moved, ok := relocate(text, components+name); ok {
		return moved
	}
	return object{"description": "Its schema depends on where it stands, or is too large for this document, and is in the manifest only."}
}

// document describes GET of a document.
func (d *description) document(id, summary string, schema object) object {
	ok := jsonResponse("The document.", schema)
	ok["headers"] = object{
		"ETag": object{"description": "For If-None-Match.", "schema": object{"type": "string"}}}
	return object{"operationId": id, "summary": summary, "responses": object{
		"200":     ok,
		"304":     object{"description": "The document is the one that If-None-Match names."},
		"default": jsonResponse("The request is refused.", refTo("failure")),
	}}
}

func jsonResponse(description string, schema object) object {
	return object{"description": description,
		"content": object{"application/json": object{"schema": schema}}}
}

// oneOf combines schemas with a keyword such as oneOf. It returns a single schema unchanged.
func oneOf(keyword string, schemas []object) object {
	if len(schemas) == 1 {
		return schemas[0]
	}
	return object{keyword: schemas}
}

// refusals are the statuses of refusals that differ from the statuses of their codes.
var refusals = map[int]dispatch.Code{
	http.StatusRequestTimeout:        dispatch.Timeout,
	http.StatusRequestEntityTooLarge: dispatch.InvalidInput,
	http.StatusUnsupportedMediaType:  dispatch.InvalidInput,
	http.StatusServiceUnavailable:    dispatch.StateError,
}

// failures are the responses of operations that fail, by status.
func (d *description) failures(operations []*dispatch.Operation) object {
	may := map[dispatch.Code]bool{dispatch.UnknownOperation: true}
	for _, op := range operations {
		for _, code := range op.Spec().Errors {
			may[code] = true
		}
	}
	byStatus := map[int][]dispatch.Code{}
	for status, code := range refusals {
		byStatus[status] = append(byStatus[status], code)
	}
	if d.o.Principal != nil {
		byStatus[http.StatusUnauthorized] = append(byStatus[http.StatusUnauthorized],
			dispatch.PermissionDenied)
	}
	for _, info := range d.catalog.Codes() {
		if may[info.Code] || info.Universal {
			byStatus[info.HTTPStatus] = append(byStatus[info.HTTPStatus], info.Code)
		}
	}
	responses := object{"default": jsonResponse("The call fails otherwise.", refTo("failure"))}
	for status, codes := range byStatus {
		responses[strconv.Itoa(status)] = d.failure(codes)
	}
	return responses
}

func (d *description) failure(codes []dispatch.Code) object {
	var lines []string
	for _, code := range codes {
		info, _ := d.catalog.CodeInfo(code)
		lines = append(lines, "`"+string(code)+"`: "+info.Summary)
	}
	code := object{"properties": object{
		"error": object{"properties": object{"code": object{"enum": codes}}}}}
	return jsonResponse(strings.Join(lines, "\n\n"),
		object{"allOf": []object{refTo("failure"), code}})
}

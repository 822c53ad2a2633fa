package schema

import (
	"embed"
	"strings"
)

// The meta-schemas of the known dialects, as published. They are read only when a schema refers to
// one.
//
//go:embed metaschema
var metaschemas embed.FS

// metaschema returns the published document with that URI, or nil if it is not of a known dialect.
func metaschema(uri string) []byte {
	file := "draft-07"
	if uri != Draft07 {
		rest, ok := strings.CutPrefix(uri, "https://json-schema.org/draft/2020-12/")
		if !ok {
			return nil
		}
		file = "2020-12/" + rest
	}
	data, err := metaschemas.ReadFile("metaschema/" + file + ".json")
	if err != nil {
		return nil
	}
	return data
}

package schema

import (
	"embed"
	"strings"
)

// metaschemas has the meta-schemas of the known dialects, as published.
//
//go:embed metaschema
var metaschemas embed.FS

// metaschema returns the meta-schema with that URI, or nil if it is not that of a known dialect.
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

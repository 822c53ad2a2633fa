package jsonscan

import "bytes"

// TrimBOM returns data without a UTF-8 byte order mark at its start. JSON has none, but some
// programs write one, and a reader may ignore it (RFC 8259, section 8.1).
func TrimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\uFEFF")) }

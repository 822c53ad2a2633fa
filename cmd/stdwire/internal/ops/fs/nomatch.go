package fs

import (
	"bytes"
	"fmt"
)

// maxCompared is the maximum number of lines of old that are compared with the file.
const maxCompared = 50

// explainNoMatch guesses, for the caller to act on, why old is not in data.
func explainNoMatch(data, old []byte) string {
	crlf, lf := []byte("\r\n"), []byte("\n")
	if !bytes.Contains(old, crlf) && bytes.Contains(data, bytes.ReplaceAll(old, lf, crlf)) {
		return `the lines of the file end with \r\n, those of old with \n`
	}
	if bytes.Contains(old, crlf) && bytes.Contains(data, bytes.ReplaceAll(old, crlf, lf)) {
		return `the lines of the file end with \n, those of old with \r\n`
	}
	want := bytes.Split(bytes.TrimSpace(old), lf)
	first := bytes.TrimSpace(want[0])
	if len(first) == 0 {
		return "it is only white space; read the file again"
	}
	nearest, longest, number := 0, 0, 0
	for rest := data; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, lf)
		number++
		rest = after
		if !bytes.Equal(bytes.TrimSpace(line), first) {
			continue
		}
		if same := sameLines(after, want[1:]); 1+same > longest {
			nearest, longest = number, 1+same
		}
	}
	switch {
	case longest == 0:
		return "no line of it is like the first of old; read the file again"
	case longest == min(len(want), maxCompared):
		return fmt.Sprintf("line %d and what follows differ from it in white space", nearest)
	default:
		return fmt.Sprintf("line %d is like its first line, but line %d differs from its line %d",
			nearest, nearest+longest, 1+longest)
	}
}

// sameLines counts the lines at the start of data that equal those of want, ignoring white space
// around them.
func sameLines(data []byte, want [][]byte) int {
	for i, line := range want[:min(len(want), maxCompared-1)] {
		got, after, more := bytes.Cut(data, []byte("\n"))
		if !bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(line)) || !more && len(got) == 0 {
			return i
		}
		data = after
	}
	return min(len(want), maxCompared-1)
}

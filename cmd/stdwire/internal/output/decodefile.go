package output

import (
	"encoding/base64"
	"path"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// decodeFile decodes the content of a binary file in the data of fs_read (see fs.ReadOutput). rest
// is the data without the content.
func decodeFile(data []byte) (name string, content, rest []byte, ok bool) {
	if encoding, _ := jsonscan.Text(jsonscan.Member(data, "encoding")); encoding != "base64" {
		return "", nil, nil, false
	}
	name, named := jsonscan.Text(jsonscan.Member(data, "path"))
	text, ok := jsonscan.Text(jsonscan.Member(data, "content"))
	if !named || !ok {
		return "", nil, nil, false
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", nil, nil, false
	}
	rest = []byte{'{'}
	for key, value := range jsonscan.Members(data) {
		if !jsonscan.KeyIs(key, "content") {
			rest = jsonscan.AppendMember(rest, key, value)
		}
	}
	return path.Base(strings.ReplaceAll(name, `\`, "/")), content, append(rest, '}'), true
}

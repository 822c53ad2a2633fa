package conformance

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
)

// ServeBadSkills serves two skills, in the legacy era: "lying", whose b.txt does not match its
// digest, and "broken", whose entry has another name than its directory. It is written without the
// packages that it tests. It returns when in ends.
func ServeBadSkills(in io.Reader, out io.Writer) error {
	const frontmatter = `{"name":"lying","description":"Lies."}`
	files := map[string]string{
		"skill://lying/SKILL.md": "---\nname: lying\ndescription: Lies.\n---\nText.\n",
		"skill://lying/b.txt":    "changed",
	}
	listed := func(uri, content string) string {
		return fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":%d}`, uri,
			sha256.Sum256([]byte(content)), len(content))
	}
	lying := fmt.Sprintf(`{"uri":"skill://lying/SKILL.md","frontmatter":%s,"resources":[%s,%s]}`,
		frontmatter, listed("skill://lying/SKILL.md", files["skill://lying/SKILL.md"]),
		listed("skill://lying/b.txt", "as read"))
	broken := fmt.Sprintf(`{"uri":"skill://broken/SKILL.md","frontmatter":{"name":"another","description":"Is broken."},"resources":[%s]}`,
		listed("skill://broken/SKILL.md", "x"))
	results := map[string]string{
		"initialize":  `{"protocolVersion":"2025-11-25","capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}},"serverInfo":{"name":"skills","version":"1"}}`,
		"skills/list": `{"skills":[` + lying + "," + broken + `]}`,
		"skills/get":  `{"skill":` + lying + `}`,
		"ping":        `{}`,
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ URI string }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"Method not found"}`
		if result, known := results[m.Method]; known {
			answer = `"result":` + result
		} else if text, known := files[m.Params.URI]; known {
			content, _ := json.Marshal(text) // a string always encodes
			answer = fmt.Sprintf(`"result":{"contents":[{"uri":%q,"text":%s}]}`, m.Params.URI, content)
		}
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

package dispatch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// DefaultBlocklist returns the default of [Options.Blocklist]: words with which shell commands shut
// down a machine, erase it, gain privileges, or leave processes behind. The caller owns the slice.
//
// A blocklist catches mistakes of people and models. It does not stop an attacker; gates and the
// operating system do.
func DefaultBlocklist() []string {
	return []string{
		"sudo", "su -", "su root", "doas", "pkexec",
		"rm -rf /", "rm -fr /", "rm -r /", "rm -rf ~", "rm -fr ~", "rm -r ~", "rm -rf $home",
		"--no-preserve-root",
		"mkfs", "wipefs", "fdisk", "parted", "of=/dev/sd*", "of=/dev/nvme*", "of=/dev/vd*",
		"> /dev/sd*", "> /dev/nvme*", "> /dev/vd*",
		"shutdown", "reboot", "halt", "poweroff", "init 0", "init 6", "telinit", "kill -9 -1",
		"kill -kill -1",
		"chmod -r 777 /", "chown -r",
		":(){", ":() {",
		"setsid", "nohup", "disown", "daemonize", "systemd-run", "crontab",
		"| sh", "| bash", "| zsh", "|sh", "|bash", "|zsh",
	}
}

// A blocklist is a list of words that normalize has returned.
type blocklist []string

func newBlocklist(words []string) (b blocklist) {
	for _, word := range words {
		if word = normalize([]byte(word)); word != "" {
			b = append(b, word)
		}
	}
	return b
}

// check returns an error if a string in a JSON value, such as the name of a member, contains one of
// the words.
func (b blocklist) check(value []byte) error {
	return b.checkValue(bytes.TrimLeft(value, " \t\r\n"), "")
}

func (b blocklist) checkValue(value []byte, path string) error {
	switch value[0] {
	case '"':
		return b.checkString(value, path)
	case '{':
		for name, member := range jsonscan.Members(value) {
			if err := b.checkString(name, path); err != nil {
				return err
			}
			plain, _ := jsonscan.Unquote(name)
			memberPath := path + "/" + jsonscan.EscapePointer(string(plain))
			if err := b.checkValue(member, memberPath); err != nil {
				return err
			}
		}
	case '[':
		i := 0
		for element := range jsonscan.Elements(value) {
			if err := b.checkValue(element, path+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

func (b blocklist) checkString(quoted []byte, path string) error {
	plain, _ := jsonscan.Unquote(quoted)
	text := normalize(plain)
	for _, word := range b {
		if containsWord(text, word) {
			reason := fmt.Sprintf("must not contain %q, which the blocklist forbids", word)
			return Errorf(Blocked, "%s",
				schema.Cause{InstancePath: path, Reason: reason},
			).With(map[string]any{"path": path, "keyword": word})
		}
	}
	return nil
}

// normalize returns text in lower case, without quotes and backslashes, and with single spaces,
// because a shell command can have more of these and mean the same.
func normalize(text []byte) string {
	dst := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '\n' || text[i+1] == '\\'):
			i++ // a line continuation, or an escaped character
		case c == '"', c == '\'', c == '\\':
		case c == ' ' || '\t' <= c && c <= '\r':
			if len(dst) > 0 && dst[len(dst)-1] != ' ' {
				dst = append(dst, ' ')
			}
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c|0x20)
		default:
			dst = append(dst, c)
		}
	}
	return strings.TrimRight(string(dst), " ")
}

// containsWord reports whether text contains word as a whole word. If word ends in *, it reports
// whether text contains a word that begins with the part before the *.
func containsWord(text, word string) bool {
	word, isPrefix := strings.CutSuffix(word, "*")
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !isWordByte(text[start-1]) || !isWordByte(word[0])) &&
			(isPrefix || end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = start + 1
	}
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c >= 0x80
}

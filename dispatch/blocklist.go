package dispatch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// DefaultBlocklist returns the default of [Options.Blocklist]: words that in shell text shut down a
// machine, erase it, gain privileges, or leave processes behind. The caller owns the slice.
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

// A blocklist is a list of words in normal form.
type blocklist []string

func newBlocklist(words []string) (b blocklist) {
	for _, word := range words {
		if word = normal([]byte(word)); word != "" {
			b = append(b, word)
		}
	}
	return b
}

// check returns an error if a string of a JSON value, names included, has one of the words.
func (b blocklist) check(value []byte) error {
	return b.within(bytes.TrimLeft(value, " \t\r\n"), "")
}

func (b blocklist) within(value []byte, path string) error {
	switch value[0] {
	case '"':
		return b.text(value, path)
	case '{':
		for name, member := range jsonscan.Members(value) {
			if err := b.text(name, path); err != nil {
				return err
			}
			plain, _ := jsonscan.Unquote(name)
			if err := b.within(member, path+"/"+jsonscan.EscapePointer(string(plain))); err != nil {
				return err
			}
		}
	case '[':
		i := 0
		for element := range jsonscan.Elements(value) {
			if err := b.within(element, path+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

func (b blocklist) text(quoted []byte, path string) error {
	plain, _ := jsonscan.Unquote(quoted)
	text := normal(plain)
	for _, word := range b {
		if contains(text, word) {
			reason := fmt.Sprintf("the word %q is not allowed in what is to be run", word)
			return Errorf(Blocked, "%s",
				schema.Cause{InstancePath: path, Reason: reason},
			).With(map[string]any{"path": path, "keyword": word})
		}
	}
	return nil
}

// normal returns a text in lower case, without quotes and backslashes, and with single spaces: a
// shell script can add these without changing its meaning.
func normal(text []byte) string {
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

// contains reports whether text has the whole word. If word ends in *, contains reports whether
// text has a word that begins with the part before the *.
func contains(text, word string) bool {
	word, open := strings.CutSuffix(word, "*")
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !isWordByte(text[start-1]) || !isWordByte(word[0])) &&
			(open || end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = start + 1
	}
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c >= 0x80
}

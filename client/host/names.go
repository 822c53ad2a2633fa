package host

import "github.com/stdwire/stdwire/internal/itemname"

// DefaultMaxName is the default maximum length of the public names of tools and prompts. Several
// models do not accept longer names.
const DefaultMaxName = 64

// PublicName returns the name of a server's tool or prompt with the server's ID, such as
// "files__read". Characters that are not letters, digits, '_', '-' or '.' become '_'. A name longer
// than maxLen is truncated and ends with '_' and six hexadecimal digits of a digest, so that names
// with the same beginning differ. The result depends on the arguments only.
func PublicName(id, name string, maxLen int) string { return itemname.Public(id, name, maxLen) }

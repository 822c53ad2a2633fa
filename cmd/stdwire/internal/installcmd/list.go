package installcmd

import (
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// An applicationFile is a file of an application.
type applicationFile struct {
	Application string `json:"application"`
	Title       string `json:"title"`
	Workspace   bool   `json:"workspace"`
	Path        string `json:"path"`
	Exists      bool   `json:"exists"`
	Servers     int    `json:"servers"`
}

// list prints the files of all applications.
func list(std *term.Streams, env *config.Environment, output string) error {
	files, rows := []applicationFile{}, [][]string{}
	for _, f := range configfile.ApplicationFiles(env) {
		state, flag, servers := "absent", "", ""
		if f.Workspace {
			flag = "--workspace"
		}
		if f.Exists {
			state, servers = "exists", command.Plural(len(f.Servers), "server")
		}
		files = append(files, applicationFile{f.Name, f.Title, f.Workspace, f.Path, f.Exists,
			len(f.Servers)})
		rows = append(rows, []string{f.Name, flag, state, f.Path, servers})
	}
	if output == "json" {
		return std.Out.PrintValue(struct {
			Files []applicationFile `json:"files"`
		}{files})
	}
	std.Out.PrintTable(rows)
	return nil
}

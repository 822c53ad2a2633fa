package main

import (
	"embed"
	"io/fs"

	"github.com/stdwire/stdwire/server"
)

//go:embed skills
var skillFiles embed.FS

func addSkills(s *server.Server) error {
	skills, err := fs.Sub(skillFiles, "skills")
	if err != nil {
		return err
	}
	return s.AddSkills(skills)
}

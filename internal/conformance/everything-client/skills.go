package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// listSkills lists the skills, and reads none of their files.
func listSkills(ctx context.Context, c *client.Client) error {
	_, err := firstSkill(ctx, c)
	return err
}

func firstSkill(ctx context.Context, c *client.Client) (*mcp.Skill, error) {
	for s, err := range c.Skills(ctx) {
		return s, err
	}
	return nil, errors.New("the server has no skill")
}

// refuseSkill reads a skill whose SKILL.md differs from its entry, as a host does: it reads other
// files only if the SKILL.md may be used.
func refuseSkill(ctx context.Context, c *client.Client) error {
	s, err := firstSkill(ctx, c)
	if err != nil {
		return err
	}
	_, err = c.ReadSkillFile(ctx, s, s.URI)
	if _, refused := errors.AsType[*client.SkillError](err); refused {
		return nil
	}
	for _, f := range s.Resources.Files {
		_, more := c.ReadSkillFile(ctx, s, f.URI)
		err = errors.Join(err, more)
	}
	return errors.Join(fmt.Errorf("the skill %s was not refused", s.URI), err)
}

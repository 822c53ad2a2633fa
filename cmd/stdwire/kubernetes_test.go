package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
	"github.com/stdwire/stdwire/internal/yaml"
)

// The manifests, with the members of the API of Kubernetes 1.34 that they use and no others, and
// the types of these members.
type (
	labels   map[string]string
	metadata struct {
		Name        string
		Labels      labels
		Annotations map[string]string
	}
	selector   struct{ MatchLabels labels }
	deployment struct {
		APIVersion, Kind string
		Metadata         metadata
		Spec             struct {
			Replicas int32
			Selector selector
			Strategy struct {
				RollingUpdate struct{ MaxUnavailable, MaxSurge json.Number }
			}
			Template struct {
				Metadata metadata
				Spec     podSpec
			}
		}
	}
	podSpec struct {
		AutomountServiceAccountToken  bool
		TerminationGracePeriodSeconds int64
		SecurityContext               struct {
			RunAsNonRoot       bool
			RunAsUser, FSGroup int64
			SeccompProfile     struct{ Type string }
		}
		Containers []container
		Volumes    []struct {
			Name      string
			ConfigMap *struct{ Name string }
			Secret    *struct {
				SecretName  string
				DefaultMode int32
				Items       []struct{ Key, Path string }
			}
			EmptyDir *struct{ SizeLimit string }
		}
	}
	container struct {
		Name, Image string
		Args        []string
		Env         []struct {
			Name      string
			ValueFrom struct {
				SecretKeyRef *struct{ Name, Key string }
				FieldRef     *struct{ FieldPath string }
			}
		}
		Ports []struct {
			Name          string
			ContainerPort int32
		}
		LivenessProbe, ReadinessProbe probe
		Lifecycle                     struct {
			PreStop struct{ Sleep struct{ Seconds int64 } }
		}
		Resources       struct{ Requests, Limits map[string]string }
		SecurityContext struct {
			AllowPrivilegeEscalation, ReadOnlyRootFilesystem bool
			Capabilities                                     struct{ Drop []string }
		}
		VolumeMounts []struct {
			Name, MountPath string
			ReadOnly        bool
		}
	}
	probe struct {
		HTTPGet       struct{ Path, Port string }
		PeriodSeconds int32
	}
	disruptionBudget struct {
		APIVersion, Kind string
		Metadata         metadata
		Spec             struct {
			MaxUnavailable json.Number
			Selector       selector
		}
	}
	service struct {
		APIVersion, Kind string
		Metadata         metadata
		Spec             struct {
			Selector labels
			Ports    []struct {
				Name       string
				Port       int32
				TargetPort string
			}
		}
	}
	ingress struct {
		APIVersion, Kind string
		Metadata         metadata
		Spec             struct {
			IngressClassName string
			TLS              []struct {
				Hosts      []string
				SecretName string
			}
			Rules []struct {
				Host string
				HTTP struct {
					Paths []struct {
						Path, PathType string
						Backend        struct {
							Service struct {
								Name string
								Port struct{ Name string }
							}
						}
					}
				}
			}
		}
	}
)

// checkMembers checks that a value has no members that its type lacks, whose names are exact.
func checkMembers(t *testing.T, path string, value any, of reflect.Type) {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			checkMembers(t, path, item, of.Elem())
		}
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return // labels and the like have any names
		}
		for name, member := range value {
			field, known := of.FieldByNameFunc(func(field string) bool {
				return memberName(field) == name
			})
			if assert.Check(t, known, "%s has no %s", path, name) {
				checkMembers(t, path+"."+name, member, field.Type)
			}
		}
	}
}

// memberName returns the name of the member for a field: fsGroup for FSGroup, and tls for TLS.
func memberName(field string) string {
	upper := len(field) - len(strings.TrimLeftFunc(field, unicode.IsUpper))
	if upper > 1 && upper < len(field) {
		upper--
	}
	return strings.ToLower(field[:upper]) + field[upper:]
}

// The manifests of the page about Kubernetes have members that its API has, of the right types, and
// what they refer to exists.
func TestKubernetesManifests(t *testing.T) {
	page, ok := topic.Find("kubernetes")
	assert.Assert(t, ok)
	_, text, ok := strings.Cut(page.Text, "\ngateway.yaml\n\n")
	assert.Assert(t, ok)
	text, rest, ok := strings.Cut(text, "\nWith a store")
	assert.Assert(t, ok)
	more := strings.Split(rest, "\n\n") // the argument, and the variable, for replicas with owners
	args, env := more[1], more[3]
	text = strings.Replace(text, "            env:\n", args+"\n            env:\n", 1)
	text = strings.Replace(text, "            ports:\n", env+"\n            ports:\n", 1)
	read := map[string]bool{}
	var d deployment
	var b disruptionBudget
	var s service
	var i ingress
	for manifest := range strings.SplitSeq(strings.ReplaceAll(text, "\n  ", "\n"), "\n---\n") {
		decoded, err := yaml.ToJSON([]byte(strings.TrimPrefix(manifest, "  ")))
		assert.NilError(t, err, manifest)
		var kind struct{ APIVersion, Kind string }
		assert.NilError(t, json.Unmarshal(decoded, &kind))
		into, known := map[string]any{"apps/v1 Deployment": &d, "policy/v1 PodDisruptionBudget": &b,
			"v1 Service": &s, "networking.k8s.io/v1 Ingress": &i}[kind.APIVersion+" "+kind.Kind]
		assert.Assert(t, known, "%s %s", kind.APIVersion, kind.Kind)
		assert.NilError(t, json.Unmarshal(decoded, into), "%s", decoded)
		var members any
		assert.NilError(t, json.Unmarshal(decoded, &members))
		checkMembers(t, kind.Kind, members, reflect.TypeOf(into))
		read[kind.Kind] = true
	}
	assert.Equal(t, len(read), 4)
	pod := d.Spec.Template.Spec
	assert.Equal(t, len(pod.Containers), 1)
	c := pod.Containers[0]
	// All select the pods.
	of := d.Spec.Template.Metadata.Labels
	for _, selected := range []labels{d.Spec.Selector.MatchLabels, b.Spec.Selector.MatchLabels,
		s.Spec.Selector} {
		assert.Assert(t, len(selected) > 0 && maps.Equal(selected, of))
	}
	// The ports have the names by which they are referred to.
	port := c.Ports[0]
	assert.Assert(t, port.Name == s.Spec.Ports[0].TargetPort && port.ContainerPort == 8080)
	for _, p := range []probe{c.LivenessProbe, c.ReadinessProbe} {
		assert.Assert(t, p.HTTPGet.Port == port.Name && p.PeriodSeconds > 0)
	}
	to := i.Spec.Rules[0].HTTP.Paths[0]
	assert.Equal(t, to.PathType, "Prefix")
	assert.Assert(t, to.Backend.Service.Name == s.Metadata.Name &&
		to.Backend.Service.Port.Name == s.Spec.Ports[0].Name)
	assert.Equal(t, i.Spec.TLS[0].Hosts[0], i.Spec.Rules[0].Host)
	// What is mounted is a volume, and each volume has one source.
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		sources := 0
		for _, has := range []bool{v.ConfigMap != nil, v.Secret != nil, v.EmptyDir != nil} {
			if has {
				sources++
			}
		}
		assert.Equal(t, sources, 1, v.Name)
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		assert.Assert(t, volumes[m.Name], m.Name)
		delete(volumes, m.Name)
	}
	assert.Equal(t, len(volumes), 0)
	// An argument names variables that there are.
	set := map[string]bool{}
	for _, e := range c.Env {
		set[e.Name] = true
		assert.Assert(t, (e.ValueFrom.SecretKeyRef == nil) != (e.ValueFrom.FieldRef == nil), e.Name)
	}
	all := strings.Join(c.Args, " ")
	assert.Assert(t, set["STATE_KEY"] && strings.Contains(all, "--state-key-env=STATE_KEY"), all)
	assert.Assert(t, set["POD_IP"] && strings.Contains(all, "--replica-url=http://$(POD_IP):8080"),
		all)
	// A drain has the 3 seconds of calls, and 3 if the store hangs, see stdwire help replicas.
	assert.Assert(t, c.Lifecycle.PreStop.Sleep.Seconds+3+3 < pod.TerminationGracePeriodSeconds)
	assert.Assert(t, d.Spec.Strategy.RollingUpdate.MaxUnavailable == "0")
}

package child

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A child inherits credentials of registries and proxies only if InheritEnv names the variables.
func TestChildrenInheritNoCredentials(t *testing.T) {
	for _, tt := range []struct{ parent, want string }{ // want "" if it is not inherited
		{"UV_PUBLISH_TOKEN=s3cret", ""},
		{"UV_PUBLISH_PASSWORD=s3cret", ""},
		{"UV_PUBLISH_USERNAME=s3cret", ""},
		{"UV_INDEX_MY_OWN_PASSWORD=s3cret", ""},
		{"UV_INDEX_MY_OWN_USERNAME=s3cret", ""},
		{"UV_GITHUB_TOKEN=s3cret", ""},
		{"npm_config__authToken=s3cret", ""},
		{"NPM_CONFIG__AUTHTOKEN=s3cret", ""},
		{"npm_config__auth=s3cret", ""},
		{"npm_config__password=s3cret", ""},
		{"npm_config_//registry.npmjs.org/:_authToken=s3cret", ""},
		{"NPM_CONFIG_//r/:_password=s3cret", ""},
		{"npm_config_//r/:username=s3cret", ""},
		{"npm_config_otp=s3cret", ""},
		{"npm_config_key=s3cret", ""},
		{"npm_config_my_token=s3cret", ""},
		{"http_proxy=http://ada:s3cret@proxy:3128", "http_proxy=http://proxy:3128"},
		{"HTTPS_PROXY=http://ada:s3/cr@et@proxy:3128/", "HTTPS_PROXY=http://proxy:3128/"},
		{"all_proxy=socks5h://s3cret@proxy", "all_proxy=socks5h://proxy"},
		{"ALL_PROXY=ada:s3cret@proxy:3128", "ALL_PROXY=proxy:3128"},
		{"npm_config_https_proxy=http://ada:s3cret@proxy", "npm_config_https_proxy=http://proxy"},
		{"npm_config_proxy=http://ada:s3cret@proxy", "npm_config_proxy=http://proxy"},
		{"npm_config_registry=https://ada:s3cret@r.example/npm/",
			"npm_config_registry=https://r.example/npm/"},
		{"UV_INDEX=own=https://ada:s3cret@r.example/simple https://s3cret@q.example/",
			"UV_INDEX=own=https://r.example/simple https://q.example/"},

		{"http_proxy=http://proxy:3128", "http_proxy=http://proxy:3128"},
		{"no_proxy=a.example,b.example", "no_proxy=a.example,b.example"},
		{"npm_config_registry=https://r.example/@scope/",
			"npm_config_registry=https://r.example/@scope/"},
		{"npm_config_cache=/home/me/.npm", "npm_config_cache=/home/me/.npm"},
		{"npm_config_auth_type=web", "npm_config_auth_type=web"},
		{"UV_KEYRING_PROVIDER=subprocess", "UV_KEYRING_PROVIDER=subprocess"},
		{"UV_DEFAULT_INDEX=https://r.example/simple", "UV_DEFAULT_INDEX=https://r.example/simple"},
	} {
		env, err := Config{}.environ([]string{tt.parent}, "linux")
		assert.NilError(t, err)
		assert.Equal(t, strings.Join(env, "\n"), tt.want, tt.parent)
		const others = "OTHER_TOKEN=kept\nDB_PROXY=ada@host\n"
		env = WithoutCredentials(append(strings.Fields(others), tt.parent))
		assert.Equal(t, strings.Join(env, "\n"), strings.TrimSuffix(others+tt.want, "\n"),
			tt.parent)

		name, _, _ := strings.Cut(tt.parent, "=")
		for _, pattern := range []string{name, "*"} {
			env, err = Config{InheritEnv: []string{pattern}}.environ([]string{tt.parent}, "linux")
			assert.NilError(t, err)
			assert.Assert(t, slices.Equal(env, []string{tt.parent}), "%s named: %q", tt.parent, env)
		}
	}
}

package e2e

import (
	"net"
	"strings"
	"testing"
)

func TestWhatMayNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	api := "VIAT_API_URL=http://127.0.0.1:9"
	for _, c := range []struct {
		args   string
		env    []string
		status int
		says   []string
	}{
		{"serve --listen 0.0.0.0:0", []string{api}, 2, []string{"--tls-cert", "--trusted-proxy", "127.0.0.1"}},
		{"serve --listen :0", []string{api}, 2, []string{"--trusted-proxy"}},
		{"serve --listen [::]:0", []string{api}, 2, []string{"--trusted-proxy"}},
		{"serve", []string{api, "VIAT_LISTEN=192.0.2.1:80"}, 2, []string{"--trusted-proxy"}},
		{"serve --listen nonsense", []string{api}, 2, []string{"VIAT_LISTEN", "HOST:PORT"}},
		{"serve --listen " + taken.Addr().String(), []string{api}, 1, []string{taken.Addr().String() + " is in use", "--listen"}},
		{"serve --listen 127.0.0.1:0", nil, 2, []string{"VIAT_API_URL"}},
		{"stdio", nil, 2, []string{"VIAT_API_URL"}},
		{"stdio", []string{"VIAT_API_URL=http://api.example.com"}, 2, []string{"https", "--allow-insecure-upstream"}},
		{"serve", []string{"VIAT_API_URL=http://192.0.2.1:8081"}, 2, []string{"--allow-insecure-upstream"}},
		{"stdio", []string{"VIAT_API_URL=http://localhost.example.com"}, 2, []string{"--allow-insecure-upstream"}},
		{"stdio", []string{"VIAT_API_URL=ftp://localhost"}, 2, []string{"VIAT_API_URL"}},
		{"stdio", []string{"VIAT_API_URL=localhost:8081"}, 2, []string{"VIAT_API_URL", "http://"}},
		{"stdio", []string{"VIAT_API_URL=http://me:pw51gn@localhost"}, 2, []string{"VIAT_API_URL", "password"}},
		{"stdio --timeout=0", []string{api}, 2, []string{"timeout"}},
		{"call nobody", []string{api}, 2, []string{"nobody", "tools"}},
		{"call list_projects x", []string{api, "VIAT_TOKEN=t"}, 2, []string{"key=value"}},
		{"nonsense", nil, 2, []string{"nonsense"}},
	} {
		stdout, stderr, status := postern(t, c.env, "", strings.Fields(c.args)...)
		if status != c.status || stdout != "" || strings.Contains(stderr, "pw51gn") {
			t.Errorf("%s: status %d, want %d; %q %q", c.args, status, c.status, stdout, stderr)
		}
		for _, part := range c.says {
			if !strings.Contains(strings.ToLower(stderr), strings.ToLower(part)) {
				t.Errorf("%s does not say %q: %s", c.args, part, stderr)
			}
		}
	}
}

func TestPlainUpstreamToAnotherMachineCanBeAllowed(t *testing.T) {
	t.Parallel()
	_, stderr, status := postern(t, []string{"VIAT_API_URL=http://192.0.2.1:8081"}, "", "stdio", "--allow-insecure-upstream")
	if status != 0 {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestANamedProxyAllowsToListenBeyondLoopback(t *testing.T) {
	t.Parallel()
	p := newPeer(t, way{"http", modern}, settings{api: record(t, nil).url, token: "any", args: []string{"--listen=0.0.0.0:0", "--trusted-proxy=192.0.2.0/24"}})
	_, port, _ := strings.Cut(p.endpoint, "]:")
	p.endpoint = "http://127.0.0.1:" + port
	p.ok(t, "list_projects", "{}") // this machine may always
}

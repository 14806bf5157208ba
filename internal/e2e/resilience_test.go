package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/postern-mcp/postern/internal/faulty"
)

// switchable is a faulty API whose fault can be changed.
type switchable struct {
	*faulty.Server
	fault atomic.Pointer[faulty.Fault]
}

func newFaulty(t testing.TB) *switchable {
	t.Helper()
	s := &switchable{}
	s.fault.Store(&faulty.Echo)
	var err error
	if s.Server, err = faulty.New(func(int) faulty.Fault { return *s.fault.Load() }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

const publish = `{"queue":"q","payload":{"n":1},"project":"p"}`

// What gateway.TestFaults declares of every fault and method holds for the binary,
// over every transport.
func TestAFaultIsOneEnvelopeAndAWriteIsSentOnce(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		api := newFaulty(t)
		p := dial(t, w, settings{api: api.URL, token: "any", args: []string{"--timeout=300ms", "--circuit-cooldown=0"}})
		for _, c := range []struct {
			fault          faulty.Fault
			code, delivery string
			again          bool
		}{
			{faulty.Echo, "", "", false},
			{faulty.ResetAfterRequest, "network_error", "unknown", true},
			{faulty.StallAfterRequest, "timeout", "unknown", false},
			{faulty.StallInBody, "timeout", "answered", false},
			{faulty.Truncated, "invalid_response", "answered", true},
			{faulty.Malformed, "invalid_response", "answered", false},
			{faulty.Garbage, "invalid_response", "unknown", true},
			{faulty.Bomb, "response_too_large", "answered", false},
			{faulty.HTMLPage, "http_5xx", "answered", true},
			{faulty.Status(429, "application/json", `{}`, "Retry-After: 3600"), "http_4xx", "answered", false},
		} {
			api.fault.Store(&c.fault)
			for tool, arguments := range map[string]string{"list_projects": `{}`, "publish_queue_message": publish} {
				api.Forget()
				start := time.Now()
				r := p.call(t, tool, arguments)
				attempts := len(api.Received())
				if r.failure.Code != c.code || r.failure.Delivery != c.delivery || attempts > 1 && (!c.again || tool != "list_projects") || attempts == 0 {
					t.Errorf("%s, %s: %d requests, %s", c.fault, tool, attempts, r.raw)
				}
				if took := time.Since(start); took > patience {
					t.Errorf("%s, %s: it took %v", c.fault, tool, took)
				}
			}
		}
	})
}

func TestNoFaultBringsTheTokenToLight(t *testing.T) {
	t.Parallel()
	for _, w := range []way{{"stdio", legacy}, {"http", modern}} {
		t.Run(w.transport, func(t *testing.T) {
			t.Parallel()
			api := newFaulty(t)
			p := dial(t, w, settings{api: api.URL, token: marked, args: []string{"--timeout=200ms", "--circuit-cooldown=0", "--log-level=debug"}})
			for _, fault := range append(faulty.All(), faulty.Parrot()...) {
				api.fault.Store(&fault)
				for tool, arguments := range map[string]string{"list_projects": `{}`, "publish_queue_message": publish, "trigger.inspect": `{"trigger_id":"t"}`} {
					clean(t, fault.Name+" "+tool, p.call(t, tool, arguments).raw)
				}
			}
			api.Refuse()
			api.Hangup()
			clean(t, "refused", p.call(t, "list_projects", `{}`).raw)
			clean(t, "the log", p.process.stderr.String())
		})
	}
}

// get asks one of the plain pages beside the endpoint.
func (p *peer) get(t testing.TB, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(p.endpoint, "/mcp")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, body := p.exchange(t, req)
	return resp.StatusCode, body
}

func TestAnOperationThatKeepsFailingIsShedAndNoOther(t *testing.T) {
	t.Parallel()
	broken := atomic.Bool{}
	broken.Store(true)
	up := record(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/messages") && broken.Load() {
			reply(503, "application/json", `{}`)(w, r)
			return
		}
		reply(200, "application/json", `{}`)(w, r)
	})
	p := dial(t, way{"http", legacy}, settings{api: up.url, token: "any", args: []string{"--circuit-cooldown=1s"}})
	for i := range 10 {
		if f := p.call(t, "publish_queue_message", publish).failure; f.Status != 503 {
			t.Fatalf("call %d: %+v", i, f)
		}
	}
	up.take()
	f := p.call(t, "publish_queue_message", publish).failure
	if f.Code != "circuit_open" || f.Delivery != "not_sent" || !*f.Retryable || f.RetryAfter != 1 || len(up.take()) != 0 {
		t.Errorf("%+v", f)
	}
	p.ok(t, "list_projects", `{}`)
	if status, body := p.get(t, "/readyz"); status != 200 || !strings.Contains(body, "circuit open: publish_queue_message\n") {
		t.Errorf("%d %s", status, body)
	}
	p.process.stderr.match(t, `msg=circuit state=(open) operation=publish_queue_message`)
	broken.Store(false)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if r := p.call(t, "publish_queue_message", publish); !r.isError {
			break
		} else if r.failure.Code != "circuit_open" || time.Now().After(deadline) {
			t.Fatalf("%+v", r.failure)
		}
	}
	for range 5 { // probes must succeed before it is closed
		p.ok(t, "publish_queue_message", publish)
	}
	if status, body := p.get(t, "/readyz"); status != 200 || body != "ready\n" {
		t.Errorf("%d %s", status, body)
	}
	p.process.stderr.match(t, `msg=circuit state=(closed) operation=publish_queue_message`)
}

func TestAnAPIThatCannotBeReachedIsShed(t *testing.T) {
	t.Parallel()
	api := newFaulty(t)
	api.Refuse()
	p := dial(t, way{"http", modern}, settings{api: api.URL, token: "any"})
	code := ""
	for range 30 {
		if code = p.call(t, "list_projects", `{}`).failure.Code; code != "network_error" {
			break
		}
	}
	if f := p.call(t, "trigger.list", `{}`).failure; code != "circuit_open" || f.Code != "circuit_open" || f.Delivery != "not_sent" {
		t.Errorf("%s, %+v", code, f)
	}
	if status, body := p.get(t, "/readyz"); status != 200 || !strings.Contains(body, "circuit open: the API\n") {
		t.Errorf("%d %s", status, body)
	}
}

func TestNobodyTakesAllThatCanBeUnderWay(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var waiting atomic.Int32
	up := record(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer quick" {
			waiting.Add(1)
			<-release
		}
		reply(200, "application/json", `{}`)(w, r)
	})
	p := dial(t, way{"http", legacy}, settings{api: up.url, token: "slow", args: []string{"--max-in-flight=6", "--max-in-flight-per-token=4"}})
	var calls sync.WaitGroup
	defer calls.Wait()
	defer close(release)
	as := func(token string) *peer { return &peer{way: p.way, endpoint: p.endpoint, token: token, http: p.http} }
	for _, token := range []string{"slow", "slow", "slow", "slow", "slower"} {
		calls.Go(func() { as(token).call(t, "list_projects", `{}`) })
	}
	for deadline := time.Now().Add(patience); waiting.Load() < 5; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d are under way", waiting.Load())
		}
	}
	if f := as("slow").call(t, "list_projects", `{}`).failure; f.Code != "rate_limited" || f.Delivery != "not_sent" || !strings.Contains(f.Message, "this token has 4 calls under way") {
		t.Errorf("%+v", f)
	}
	as("quick").ok(t, "list_projects", `{}`)
	calls.Go(func() { as("slowest").call(t, "list_projects", `{}`) })
	for deadline := time.Now().Add(patience); waiting.Load() < 6; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d are under way", waiting.Load())
		}
	}
	if f := as("quick").call(t, "list_projects", `{}`).failure; f.Code != "rate_limited" || !strings.Contains(f.Message, "this gateway has 6 calls under way") || f.RetryAfter != 1 {
		t.Errorf("%+v", f)
	}
}

// authority issues certificates for loopback and for clients.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key, a.file, _ = issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

func issue(t *testing.T, template *x509.Certificate, by *authority) (cert *x509.Certificate, key *ecdsa.PrivateKey, certFile, keyFile string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "e2e"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	check(err)
	cert, err = x509.ParseCertificate(der)
	check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	check(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	check(os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return cert, key, certFile, keyFile
}

func TestTheAPIIsVerifiedAndShownACertificate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	_, _, serverCert, serverKey := issue(t, &x509.Certificate{}, ca)
	_, _, clientCert, clientKey := issue(t, &x509.Certificate{}, ca)
	_, _, strangerCert, strangerKey := issue(t, &x509.Certificate{}, newAuthority(t))
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	api := httptest.NewUnstartedServer(reply(200, "application/json", `{}`))
	api.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	api.StartTLS()
	t.Cleanup(api.Close)
	for name, c := range map[string]struct {
		args  []string
		says  string
		works bool
	}{
		"both":                     {[]string{"--upstream-ca=" + ca.file, "--upstream-cert=" + clientCert, "--upstream-key=" + clientKey}, "", true},
		"the system's authorities": {[]string{"--upstream-cert=" + clientCert, "--upstream-key=" + clientKey}, "unknown authority", false},
		"no client certificate":    {[]string{"--upstream-ca=" + ca.file}, "", false},
		"a stranger's certificate": {[]string{"--upstream-ca=" + ca.file, "--upstream-cert=" + strangerCert, "--upstream-key=" + strangerKey}, "", false},
		"an authority of its own":  {[]string{"--upstream-ca=" + strangerCert, "--upstream-cert=" + clientCert, "--upstream-key=" + clientKey}, "unknown authority", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := dial(t, way{"stdio", modern}, settings{api: api.URL, token: "any", args: c.args}).call(t, "list_projects", `{}`)
			if r.isError == c.works || !c.works && (r.failure.Code != "network_error" || !strings.Contains(r.failure.Message, c.says)) {
				t.Error(r.raw)
			}
		})
	}
}

// A call that meets the moment in which its token is replaced is not lost.
func TestACallSurvivesTheRotationOfItsToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file+".new", []byte(token), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Error(err)
		}
	}
	write("token-0")
	valid := "token-0"
	var rotate atomic.Bool
	up := record(t, func(w http.ResponseWriter, r *http.Request) {
		if rotate.CompareAndSwap(true, false) { // while the call is under way
			valid += "x"
			write(valid)
		}
		if r.Header.Get("Authorization") != "Bearer "+valid {
			reply(401, "application/json", `{"detail":"revoked"}`)(w, r)
			return
		}
		reply(200, "application/json", `{}`)(w, r)
	})
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, args: []string{"--token-file=" + file}})
	p.ok(t, "list_projects", `{}`)
	for range 3 {
		up.take()
		rotate.Store(true)
		p.ok(t, "publish_queue_message", publish)
		if sent := up.take(); len(sent) != 2 || sent[0].Header.Get("Authorization") == sent[1].Header.Get("Authorization") {
			t.Fatalf("%d requests", len(sent))
		}
	}
}

func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			up := newSlow(t)
			p := dial(t, way{transport, legacy}, settings{api: up.url, token: "any"})
			go func() { // it is never answered
				if p.stdio != nil {
					p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
					return
				}
				req, err := http.NewRequestWithContext(t.Context(), "POST", p.endpoint, strings.NewReader(p.message("tools/call", callParams("list_projects", "{}"))))
				if err != nil {
					return
				}
				req.Header = p.headers("tools/call", "list_projects")
				if resp, err := p.http.Do(req); err == nil {
					resp.Body.Close()
				}
			}()
			within(t, patience, up.started, "the request")
			p.process.signal(syscall.SIGTERM)
			time.Sleep(200 * time.Millisecond) // two at once may be taken for one
			start := time.Now()
			p.process.signal(syscall.SIGTERM)
			if status := p.process.wait(t); status == 0 || time.Since(start) > 5*time.Second {
				t.Errorf("exit status %d after %v", status, time.Since(start))
			}
		})
	}
}

// docs/configuration.md states the bound; with GOMEMLIMIT it is much smaller.
func TestAnswersAtTheCapTakeBoundedMemory(t *testing.T) {
	const inFlight, size = 32, 1 << 20
	text := `{"a":"` + strings.Repeat("x", size-10) + `"}`
	api := httptest.NewServer(reply(200, "application/json", text))
	t.Cleanup(api.Close)
	for name, c := range map[string]struct {
		env    []string
		factor int
	}{"by itself": {nil, 10}, "with GOMEMLIMIT": {[]string{"GOMEMLIMIT=" + strconv.Itoa(4*inFlight) + "MiB"}, 5}} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, way{"http", modern}, settings{api: api.URL, token: "any", environment: c.env, args: []string{"--max-in-flight=" + strconv.Itoa(inFlight), "--max-in-flight-per-token=" + strconv.Itoa(inFlight)}})
			var calls sync.WaitGroup
			for range inFlight {
				calls.Go(func() {
					own := &peer{way: p.way, endpoint: p.endpoint, token: "any", http: p.http}
					for range 8 {
						if r := own.call(t, "list_projects", `{}`); r.isError || len(r.text) != len(text) {
							t.Errorf("%.300s", r.raw)
						}
					}
				})
			}
			calls.Wait()
			most := peak(t, p.process)
			t.Logf("%d MiB for %d answers of %d bytes: a factor of %.1f", most>>20, inFlight, size, float64(most)/float64(inFlight*size))
			if most > c.factor*inFlight*size {
				t.Errorf("%d bytes are more than the stated factor of %d", most, c.factor)
			}
		})
	}
}

// A client that reads late has no more held for it than the bound either, whatever the
// answers are made of.
func TestAnswersThatAreReadLateTakeBoundedMemory(t *testing.T) {
	const inFlight, size, process = 8, 1 << 20, 20 << 20
	for contentType, unit := range map[string]string{"application/json": "1", "text/plain": "\x01", "image/png": "\xff"} {
		text := strings.Repeat(unit, size)
		api := httptest.NewServer(reply(200, contentType, text))
		t.Cleanup(api.Close)
		args := []string{"--max-in-flight=" + strconv.Itoa(inFlight)}
		check := func(t *testing.T, p *peer) {
			most := peak(t, p.process)
			t.Logf("%d MiB for %d answers of %d bytes", most>>20, inFlight, size)
			if most > process+10*inFlight*size {
				t.Errorf("%d bytes are more than the stated factor of 10", most)
			}
		}
		t.Run("http "+contentType, func(t *testing.T) {
			p := dial(t, way{"http", legacy}, settings{api: api.URL, token: "any", args: append(args, "--max-in-flight-per-token="+strconv.Itoa(inFlight))})
			p.request(t, "tools/call", callParams("list_projects", "{}")) // what a template is learned from
			var bodies []io.ReadCloser
			for range 4 * inFlight {
				req, err := http.NewRequestWithContext(t.Context(), "POST", p.endpoint, strings.NewReader(p.message("tools/call", callParams("list_projects", "{}"))))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = p.headers("tools/call", "list_projects")
				resp, err := p.http.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				bodies = append(bodies, resp.Body) // read by nobody yet
			}
			check(t, p)
			for _, body := range bodies {
				body.Close()
			}
		})
		t.Run("stdio "+contentType, func(t *testing.T) {
			p := dial(t, way{"stdio", legacy}, settings{api: api.URL, token: "any", args: args})
			p.request(t, "tools/call", callParams("list_projects", "{}"))
			for range 20 * inFlight {
				p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
			}
			for last := -1; last != peak(t, p.process); time.Sleep(300 * time.Millisecond) {
				last = peak(t, p.process)
			}
			check(t, p)
		})
	}
}

// peak is the largest resident size of a process so far, in bytes. The usage that the
// system reports at its end will not do: on Linux that begins with what the parent had.
func peak(t *testing.T, p *process) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		t.Skipf("the system does not say how much memory a process uses: %v", err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(line), " kB")
	kib, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("%v in %s", err, status)
	}
	return kib << 10
}

//go:build !race

// What the page does in a browser has nothing to do with threads of ours, and takes minutes
// with the race detector.

package report

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var keep = flag.String("keep", "", "directory for screenshots of the page")

// browser is Chromium without a screen, spoken to by its DevTools protocol over a pipe:
// JSON messages that end in a zero byte.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	id      int
	// What the page did.
	requests []string
	problems []string
}

// message is an answer or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserLimit is how long Chromium may take for all of a test.
const browserLimit = 5 * time.Minute

// openBrowser starts Chromium.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	exe, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: script/deps installs it", err)
	}
	theirIn, ourOut := pipe(t)
	ourIn, theirOut := pipe(t)
	args := []string{
		"--headless", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
		"--disable-background-networking", "--user-data-dir=" + t.TempDir(),
	}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox") // it refuses to be root in one
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), browserLimit)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	// Its helpers hold on to the output: it is not waited for.
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	_ = theirIn.Close()
	_ = theirOut.Close()
	b := &browser{t: t, to: ourOut, from: bufio.NewReader(ourIn)}
	t.Cleanup(func() {
		_, _ = ourOut.WriteString(`{"id":1000000,"method":"Browser.close"}` + "\x00")
		_ = cmd.Wait() // killed at the latest when its time is over
		cancel()
	})
	if err := ourIn.SetReadDeadline(time.Now().Add(browserLimit)); err != nil {
		t.Fatal(err)
	}
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

// call calls a method and returns its result; events on the way are noted.
func (b *browser) call(method string, params any) json.RawMessage {
	b.t.Helper()
	b.id++
	id := b.id
	request := map[string]any{"id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.next()
		if m.ID == id {
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error.Message)
			}
			return m.Result
		}
	}
}

// next reads one message, and keeps what an event says.
func (b *browser) next() (m message) {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("Chromium says nothing more: %v", err)
	}
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		var p struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		_ = json.Unmarshal(m.Params, &p)
		b.requests = append(b.requests, p.Request.URL)
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.problems = append(b.problems, m.Method+": "+string(m.Params))
	}
	return m
}

// open opens a page of a size in pixels and waits until it is drawn.
func (b *browser) open(dir string, width, height int, dark bool) {
	b.t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	b.session = ""
	b.decode(b.call("Target.createTarget", map[string]any{"url": "about:blank"}), &target)
	b.decode(b.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}), &session)
	b.session, b.requests, b.problems = session.ID, nil, nil
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil)
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	if dark {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}})
	}
	b.call("Page.navigate", map[string]any{"url": "file://" + filepath.Join(dir, IndexName)})
	for {
		if m := b.next(); m.Method == "Page.loadEventFired" {
			break
		}
	}
	// A frame later what observers of sizes have to do is done.
	b.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, new(int))
}

func (b *browser) decode(raw json.RawMessage, v any) {
	b.t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		b.t.Fatalf("%v in %s", err, raw)
	}
}

// eval evaluates an expression in the page.
func (b *browser) eval(expression string, v any) {
	b.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	raw := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	b.decode(raw, &r)
	if r.Exception != nil {
		b.t.Fatalf("%s: %s", expression, raw)
	}
	b.decode(r.Result.Value, v)
}

// screenshot keeps a picture of the whole page, where it is asked for.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	if *keep == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	b.decode(b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}), &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(*keep, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// isQuiet checks that the page asked nobody for anything and had nothing to complain of.
func (b *browser) isQuiet(dir string) {
	b.t.Helper()
	own := "file://" + filepath.Join(dir, IndexName)
	for _, url := range b.requests {
		if url != own && !strings.HasPrefix(url, "data:") {
			b.t.Errorf("the page asked for %s", url)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("not even the page itself was seen among the requests")
	}
	for _, p := range b.problems {
		b.t.Error(p)
	}
}

// drawn is what is to be seen of a figure.
type drawn struct {
	Series int `json:"series"`
	Ink    int `json:"ink"`    // pixels that are not empty
	Colors int `json:"colors"` // of the palette that are among them
	Width  int `json:"width"`
}

// figures looks at the canvas of every figure.
func (b *browser) figures() map[string]drawn {
	b.t.Helper()
	var out map[string]drawn
	b.eval(fmt.Sprintf(`(() => {
		const hex = c => c.slice(1).match(/../g).map(x => parseInt(x, 16));
		const style = getComputedStyle(document.documentElement);
		const palette = Array.from({length: %d}, (_, i) => hex(style.getPropertyValue("--c" + i).trim()));
		const out = {};
		for (const f of document.querySelectorAll("figure[id]")) {
			const c = f.querySelector("canvas");
			if (!c) { out[f.id] = {series: Number(f.dataset.series), ink: 0, colors: 0, width: 0}; continue; }
			const px = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
			const counts = palette.map(() => 0);
			let ink = 0;
			for (let i = 0; i < px.length; i += 4) {
				if (px[i+3] === 0) continue;
				ink++;
				palette.forEach(([r, g, b], k) => { if (Math.abs(px[i]-r) + Math.abs(px[i+1]-g) + Math.abs(px[i+2]-b) < 6) counts[k]++; });
			}
			out[f.id] = {series: Number(f.dataset.series), ink, colors: counts.filter(n => n > 5).length, width: f.getBoundingClientRect().width};
		}
		return out;
	})()`, len(palette)), &out)
	return out
}

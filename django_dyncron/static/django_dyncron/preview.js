// Has the server draw the panels of the form again as one types. Without it, "Check" does.
"use strict";

{
    const DELAY_MS = 300;
    const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

    /** One panel: which inputs it depends on, and what it was last drawn for. */
    class LivePanel {
        #timer = 0;
        #request = null;
        #drawnFor = "";

        constructor(element, form) {
            this.form = form;
            this.url = element.dataset.url;
            this.job = element.dataset.job;
            this.fields = element.dataset.fields.split(" ");
            this.failed = element.dataset.failed;
            this.content = element.querySelector("[data-content]");
            this.status = element.querySelector("[role=status]");
        }

        /** Draw it for what a browser filled in again after "Back", and for the browser's time zone. */
        begin() {
            if (this.form.elements[this.fields[0]].value) {
                this.draw({ quietly: true });
            } else {
                this.#drawnFor = this.#body.toString();
            }
        }

        /** Whether its leading input can be typed into; it is text for those who may only look. */
        get isEditable() {
            return this.fields[0] in this.form.elements;
        }

        get #body() {
            const body = new URLSearchParams({ job: this.job, tz: browserZone });
            for (const name of this.fields) {
                const input = this.form.elements[name];
                if (input) {
                    body.set(name, input.type === "checkbox" ? (input.checked ? "on" : "") : input.value);
                }
            }
            return body;
        }

        drawSoon() {
            clearTimeout(this.#timer);
            if (this.#body.toString() !== this.#drawnFor) {
                this.#timer = setTimeout(() => this.draw(), DELAY_MS);
            } else {
                // Typed and taken back before the answer came: that answer is not wanted any more.
                this.#request?.abort();
            }
        }

        async draw({ quietly = false } = {}) {
            const body = this.#body;
            const wanted = body.toString();
            this.#request?.abort();
            const request = (this.#request = new AbortController());
            this.content.ariaBusy = "true";
            try {
                const html = await this.#fetch(body, request.signal);
                this.content.innerHTML = html;
                this.#drawnFor = wanted;
                this.#say(quietly ? "" : this.#summary);
                this.form.dispatchEvent(new CustomEvent("dyncron:drawn"));
            } catch (error) {
                if (error.name !== "AbortError") {
                    this.#say(this.failed, { visibly: true });
                }
            } finally {
                if (this.#request === request) {
                    this.content.ariaBusy = "false";
                }
            }
        }

        async #fetch(body, signal) {
            body.set("csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value);
            // A redirect leads to the log-in page.
            const answer = await fetch(this.url, { method: "POST", body, signal, redirect: "error" });
            if (!answer.ok) {
                throw new Error(`${this.url}: ${answer.status}`);
            }
            return answer.text();
        }

        /** The gist, for those who listen: not the whole table. */
        get #summary() {
            const parts = this.content.querySelectorAll(".dyncron-words, .dyncron-error, .dyncron-notice");
            return Array.from(parts, (part) => part.textContent.trim()).join(" ");
        }

        #say(words, { visibly = false } = {}) {
            this.status.textContent = words;
            this.status.classList.toggle("visually-hidden", !visibly);
        }
    }

    /** Show the buttons that would do something now, and hints where nothing is typed. */
    const refreshButtons = (form) => {
        for (const button of form.querySelectorAll("button[data-if-empty]")) {
            const typed = form.elements[button.dataset.fill]?.value.replaceAll(/\s/g, "");
            button.hidden = typed !== "" && typed !== "{}";
        }
        const queue = form.elements.queue;
        if (queue) {
            queue.placeholder = form.querySelector("[data-hint-for=queue]")?.textContent ?? "default";
        }
    };

    const showShortcuts = (form) => {
        for (const group of form.querySelectorAll(".dyncron-shortcuts")) {
            const own = group.querySelector("[data-own-zone]");
            if (own) {
                own.value = browserZone;
                own.textContent = own.dataset.words.replace("{}", browserZone);
            }
            group.hidden = own !== null && browserZone === "";
        }
    };

    const fill = (form, button) => {
        const input = form.elements[button.dataset.fill];
        input.value = button.value;
        input.focus();
        input.dispatchEvent(new Event("input", { bubbles: true }));
    };

    const begin = (form) => {
        const panels = Array.from(form.querySelectorAll(".dyncron-live"))
            .map((element) => new LivePanel(element, form))
            .filter((panel) => panel.isEditable);
        const look = () => {
            refreshButtons(form);
            panels.forEach((panel) => panel.drawSoon());
        };
        // The admin's calendar and clock fill in a field without a word, then focus it.
        ["input", "change", "focusin"].forEach((type) => form.addEventListener(type, look));
        form.addEventListener("dyncron:drawn", () => refreshButtons(form));
        form.addEventListener("click", (event) => {
            const button = event.target.closest("button[data-fill]");
            if (button) {
                fill(form, button);
            }
        });
        showShortcuts(form);
        refreshButtons(form);
        panels.forEach((panel) => panel.begin());
    };

    const form = document.querySelector(".dyncron-live")?.closest("form");
    if (form) {
        begin(form);
    }
}

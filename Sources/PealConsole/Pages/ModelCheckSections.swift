internal import PealCore
internal import PealExperiments

/// How the model of an experiment's phones fits what happened: predictions against opens, sample windows, weights.
struct ModelCheckSections: Sendable {
    let call: PageCall
    let check: ModelCheck

    private var texts: Texts { call.texts }

    var html: HTML {
        """
        <div class="columns">
        <section class="card"><h2>\(texts[.predictions])</h2>\(CalibrationChart(bins: check.calibration).html(call))</section>
        <section class="card"><h2>\(texts[.weights])</h2>\(weights)</section>
        </div>
        <section class="card"><h2>\(texts[.sampleWindows])</h2>\(windows)</section>
        """
    }

    /// A table with bars, to the left for what speaks against a moment.
    private var weights: HTML {
        guard let top = check.weights.map({ abs($0.value) }).max(), top > 0 else {
            return "<p class=\"none\">\(texts[.noWeights])</p>"
        }
        return """
            <table class="funnel weights"><caption class="hidden">\(texts[.weights])</caption>
            <thead class="hidden"><tr><th scope="col">\(texts[.feature])</th><th scope="col">\(texts[.weight])</th><td></td></tr></thead>
            <tbody>\(HTML.each(check.weights) { row($0, top: top) })</tbody></table>\
            <p class="hint">\(texts[.weightsHint])</p>
            """
    }

    private func row(_ weight: ModelCheck.Weight, top: Double) -> HTML {
        let width = Int((abs(weight.value) / top * 500).rounded())
        return """
            <tr><th scope="row">\(texts.feature(weight.feature))</th>\
            <td class="num">\(texts.signed(weight.value))</td>\
            <td class="bars"><svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="ground" width="1000" height="10"/>\
            <rect class="\(weight.value < 0 ? "dim" : "accent")" x="\(weight.value < 0 ? 500 - width : 500)" width="\(width)" height="10"/>\
            </svg></td></tr>
            """
    }

    private var windows: HTML {
        guard !check.sampleWindows.isEmpty else { return "<p class=\"none\">\(texts[.noSampleWindows])</p>" }
        var table = ListTable(
            caption: texts[.sampleWindows],
            columns: [texts[.message], texts[.afterStart], texts[.score], texts[.threshold], texts[.result]],
            numbers: [1, 2, 3])
        for (index, window) in check.sampleWindows.enumerated() {
            for (number, wake) in window.wakes.enumerated() {
                let isShown = window.isShownByPhone && number == window.wakes.count - 1
                table.rows.append([
                    "\(texts.number(index + 1))", "\(texts.minutes(wake.minute))", "\(texts.share(wake.score))",
                    "\(texts.share(wake.threshold))", "\(isShown ? texts[.shown] : texts[.waited])",
                ])
            }
        }
        return """
            <p class="hint">\(texts[.sampleWindowsHint])</p>
            <div class="strips">\(HTML.each(check.sampleWindows) { WindowStrip(window: $0).html(call) })</div>
            <details><summary>\(texts[.asTable])</summary>\(table.html)</details>
            """
    }
}

/// Predicted shares of opens against those that happened, as a reliability diagram, with the counts in a table.
struct CalibrationChart: Sendable {
    let bins: [ModelCheck.Bin]

    private static let (width, height) = (300.0, 200.0)

    func html(_ call: PageCall) -> HTML {
        let texts = call.texts
        guard let last = bins.last else { return "<p class=\"none\">\(texts[.noPredictions])</p>" }
        let top = Self.top((bins.map { max($0.predicted, $0.rate) }.max() ?? 1) * 1.25)
        var table = ListTable(
            caption: texts[.predictions],
            columns: [texts[.predicted], texts[.happened], texts[.opened], texts[.displays]], numbers: [0, 1, 2, 3])
        table.rows = bins.map { bin in
            [
                "\(texts.share(bin.predicted))", "\(texts.share(bin.rate))", call.number(bin.opens),
                call.number(bin.displays),
            ]
        }
        let label = texts(
            .predictionsLabel, texts.number(bins.reduce(0) { $0 + $1.displays }), texts.share(last.predicted),
            texts.share(last.rate))
        return """
            <figure class="chart calibration"><div class="plot"><ol class="scale" aria-hidden="true"><li>\(texts.share(top))</li><li>0</li></ol>\
            <svg viewBox="0 0 300 200" role="img" aria-label="\(label)">\
            <line class="zero" x1="0" y1="200" x2="300" y2="0"/>\
            \(HTML.each(bins) { Self.shapes($0, top, most: bins.map(\.displays).max() ?? 1) })</svg></div>
            <figcaption class="row hint"><span>0</span><span>\(texts[.predicted])</span><span>\(texts.share(top))</span></figcaption>
            <p class="hint">\(texts[.predictionsHint])</p>
            <details><summary>\(texts[.asTable])</summary>\(table.html)</details></figure>
            """
    }

    /// The next multiple of 5 %, of 1 % for small shares.
    private static func top(_ share: Double) -> Double {
        let step = share > 0.1 ? 20.0 : 100.0
        return min(1, max(1, (share * step).rounded(.up)) / step)
    }

    /// A dot with its interval; its area grows with the displays.
    private static func shapes(_ bin: ModelCheck.Bin, _ top: Double, most: Int) -> HTML {
        func y(_ share: Double) -> Int { Int((height - min(1, share / top) * height).rounded()) }
        let x = Int((min(1, bin.predicted / top) * width).rounded())
        let radius = 3 + 4 * (Double(bin.displays) / Double(max(1, most))).squareRoot()
        return """
            <line class="reach" x1="\(x)" y1="\(y(bin.interval.lowerBound))" x2="\(x)" y2="\(y(bin.interval.upperBound))"/>\
            <circle class="accent" cx="\(x)" cy="\(y(bin.rate))" r="\(Int(radius.rounded()))"/>
            """
    }
}

/// What a phone computed for one message: scores and threshold over the message's window.
struct WindowStrip: Sendable {
    let window: ModelCheck.Window

    func html(_ call: PageCall) -> HTML {
        let texts = call.texts
        let top = max(0.001, window.wakes.map { max($0.score, $0.threshold) }.max() ?? 1) * 1.1
        func point(_ minute: Int, _ share: Double) -> String {
            "\(min(300, minute * 300 / max(1, window.minutes))),\(Int((80 - share / top * 80).rounded()))"
        }
        let result = texts[window.isShownByPhone ? .shownByPhone : .sentByServer]
        let title = "\(result), \(texts[window.isOpened ? .openedWord : .notOpenedWord])"
        // A window that began milliseconds late is not a minute shorter for people.
        let length = texts.minutes((window.minutes + 2) / 5 * 5)
        let label = texts(.stripLabel, texts.number(window.wakes.count), length, title)
        return """
            <figure class="strip"><svg viewBox="0 0 300 84" preserveAspectRatio="none" role="img" aria-label="\(label)">\
            <polyline class="threshold" points="\(window.wakes.map { point($0.minute, $0.threshold) }.joined(separator: " "))"/>\
            <polyline class="line" points="\(window.wakes.map { point($0.minute, $0.score) }.joined(separator: " "))"/>\
            \(HTML.when(window.isShownByPhone, HTML.with(window.wakes.last) { shown($0.minute) }))</svg>
            <figcaption class="row hint"><span><i class="dot \(window.isOpened ? "good" : "")"></i>\(title)</span>\
            <span>\(length)</span></figcaption></figure>
            """
    }

    private func shown(_ minute: Int) -> HTML {
        let x = min(299, minute * 300 / max(1, window.minutes))
        return "<line class=\"moment\" x1=\"\(x)\" y1=\"0\" x2=\"\(x)\" y2=\"84\"/>"
    }
}

extension Texts {
    /// A number with two decimals and its sign.
    func signed(_ value: Double) -> String {
        let hundredths = Int((abs(value) * 100).rounded())
        let rest = hundredths % 100
        let text = "\(number(hundredths / 100))\(language == .english ? "." : ",")\(rest < 10 ? "0" : "")\(rest)"
        return (hundredths == 0 ? "±" : value < 0 ? "−" : "+") + text
    }

    /// A duration in hours and minutes.
    func minutes(_ minutes: Int) -> String {
        let (hours, rest) = (minutes / 60, minutes % 60)
        if hours == 0 { return self(.minutesShort, number(rest)) }
        let long = self(.hoursShort, number(hours))
        return rest == 0 ? long : "\(long) \(self(.minutesShort, number(rest)))"
    }

    /// The name of a model's feature; products of two are joined by ×.
    func feature(_ name: String) -> String {
        if name.hasPrefix("situation ") { return self(.featureSituation, String(name.dropFirst("situation ".count))) }
        return name.split(separator: " × ").map { part in
            Self.features[String(part)].map { self[$0] } ?? String(part)
        }.joined(separator: " × ")
    }

    private static let features: [String: Word] = [
        "sin hour": .featureSine, "cos hour": .featureCosine, "sin 2 hour": .featureHalfSine,
        "cos 2 hour": .featureHalfCosine, "weekend": .featureWeekend, "openness": .featureOpenness,
        "daily taste": .featureDaily, "finer taste": .featureFiner, "sin own hour": .featureOwnSine,
        "cos own hour": .featureOwnCosine, "unlocked": .featureUnlocked, "unlocked before": .featureUnlockedBefore,
        "vehicle": .inVehicle, "walking": .walking, "charging": .featureCharging, "Wi-Fi": .featureWiFi,
        "headphones": .featureHeadphones, "face down": .featureFaceDown, "brightness": .featureBrightness,
        "battery": .featureBattery, "low power": .featureLowPower, "silent": .featureSilent,
    ]
}

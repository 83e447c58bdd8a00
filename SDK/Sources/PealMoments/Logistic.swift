internal import Foundation

/// The logistic function and its inverse.
public enum Logistic {
    /// The probability for log-odds `logit`; never overflows.
    public static func probability(_ logit: Double) -> Double {
        logit >= 0 ? 1 / (1 + exp(-logit)) : exp(logit) / (1 + exp(logit))
    }

    /// The log-odds of a probability within (0, 1).
    public static func logit(_ probability: Double) -> Double { log(probability / (1 - probability)) }
}

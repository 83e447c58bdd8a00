#if os(iOS)
    internal import AVFAudio
    internal import CoreMotion
    internal import Foundation
    internal import Network
    public import PealMoments
    internal import UIKit

    /// The sensors of an iPhone or iPad that need no permission: UIKit's device state, Core Motion's raw acceleration,
    /// the audio route and the network path. Samples are reduced to `Signals` here and then dropped.
    public struct PhoneSensors: Sensors {
        /// The sensors of this phone.
        public init() {}

        public func read() async -> Signals {
            async let motion = acceleration()
            async let isOnWiFi = isOnWiFi()
            var signals = await deviceState()
            let window = await motion
            signals.isWalking = window.isWalking
            signals.isInVehicle = window.isInVehicle
            signals.isFaceDown = window.isFaceDown
            signals.isOnWiFi = await isOnWiFi
            signals.isInLowPowerMode = ProcessInfo.processInfo.isLowPowerModeEnabled
            readAudio(&signals)
            return signals
        }

        @MainActor private func deviceState() -> Signals {
            var signals = Signals()
            // Protected data is available while the phone is unlocked (UIApplication, "isProtectedDataAvailable").
            signals.isUnlocked = UIApplication.shared.isProtectedDataAvailable
            let device = UIDevice.current
            device.isBatteryMonitoringEnabled = true
            signals.battery = device.batteryLevel < 0 ? nil : Double(device.batteryLevel)
            switch device.batteryState {
            case .charging, .full: signals.isCharging = true
            case .unplugged: signals.isCharging = false
            default: break
            }
            signals.brightness = Double(UIScreen.main.brightness)
            return signals
        }

        private func readAudio(_ signals: inout Signals) {
            let session = AVAudioSession.sharedInstance()
            let personalOutputs: Set<AVAudioSession.Port> = [
                .headphones, .bluetoothA2DP, .bluetoothHFP, .bluetoothLE, .carAudio,
            ]
            signals.hasHeadphones = session.currentRoute.outputs.contains { personalOutputs.contains($0.portType) }
            signals.isSilent = session.outputVolume == 0
        }

        /// Half a second of acceleration.
        private func acceleration() async -> MotionWindow {
            let manager = CMMotionManager()
            guard manager.isAccelerometerAvailable else { return MotionWindow(samples: []) }
            manager.accelerometerUpdateInterval = 1 / MotionWindow.hertz
            manager.startAccelerometerUpdates()
            defer { manager.stopAccelerometerUpdates() }
            var samples: [MotionWindow.Sample] = []
            for _ in 0..<MotionWindow.sampleCount {
                try? await Task.sleep(nanoseconds: UInt64(1_000_000_000 / MotionWindow.hertz))
                guard let value = manager.accelerometerData?.acceleration else { continue }
                samples.append(MotionWindow.Sample(x: value.x, y: value.y, z: value.z))
            }
            return MotionWindow(samples: samples)
        }

        /// Whether the current connection to the Internet is Wi-Fi; nil without a connection.
        private func isOnWiFi() async -> Bool? {
            let monitor = NWPathMonitor()
            let paths = AsyncStream<NWPath> { continuation in
                monitor.pathUpdateHandler = { path in
                    continuation.yield(path)
                    continuation.finish()
                }
                monitor.start(queue: DispatchQueue(label: "peal.path"))
            }
            defer { monitor.cancel() }
            for await path in paths where path.status == .satisfied { return path.usesInterfaceType(.wifi) }
            return nil
        }
    }
#endif

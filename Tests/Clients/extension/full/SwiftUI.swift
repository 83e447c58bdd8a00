@_exported public import UIKit

// Stubs of SwiftUI as far as the iPhone guide uses it.
@MainActor @preconcurrency public protocol View {}
@MainActor @preconcurrency public protocol Scene {}
@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    init()
    @SceneBuilder var body: Body { get }
}
extension App {
    public static func main() {}
}
@resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
public struct WindowGroup<Content: View>: Scene {
    public init(content: () -> Content) {}
}
extension Scene {
    public func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping (_ former: Value, _ value: Value) -> Void
    ) -> some Scene { self }
}
public enum ScenePhase: Sendable { case background, inactive, active }
public struct EnvironmentValues: Sendable {
    public var scenePhase: ScenePhase { .active }
}
@propertyWrapper public struct Environment<Value> {
    public let wrappedValue: Value
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { wrappedValue = EnvironmentValues()[keyPath: keyPath] }
}
@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public var wrappedValue: Delegate { fatalError("only for type checks") }
    public init(_ type: Delegate.Type = Delegate.self) {}
}

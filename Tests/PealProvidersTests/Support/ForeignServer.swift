import Foundation
import PealTesting

/// A third-party server on a free port of the loopback interface. It ends with this object.
final class ForeignServer {
    let port: Int
    let directory: TestDirectory
    private let process: ChildProgram

    var url: String { "https://127.0.0.1:\(port)" }

    private init(port: Int, directory: TestDirectory, _ program: String, _ arguments: [String]) throws {
        self.port = port
        self.directory = directory
        let process = try ChildProgram(program, arguments)
        self.process = process
        try LoopbackPort.waitForListener(port) { process.isRunning }
    }

    /// nghttp2's server: strict about headers, answers 404 to every path that is not a file.
    /// - Parameter arguments: such as `-m 7` for the stream limit, `-w 10` for windows of 2¹⁰ − 1, `-c` for the header
    ///   table.
    static func nghttpd(_ arguments: [String] = []) throws -> ForeignServer {
        let port = try LoopbackPort.free()
        let directory = try TestDirectory.certificates()
        return try ForeignServer(
            port: port, directory: directory, "/usr/sbin/nghttpd",
            ["-a", "127.0.0.1", "-d", directory.path] + arguments
                + ["\(port)", directory.file("key.pem"), directory.file("cert.pem")])
    }

    /// - Parameters:
    ///   - server: directives of the server block; by default every URI gets 200.
    ///   - logsPaths: whether each request's path goes to `access.log`.
    ///   - format: the format of its lines.
    static func nginx(
        _ server: String, location: String = "return 200;", logsPaths: Bool = false,
        format: String = "$http_apns_id $uri $http_apns_expiration"
    ) throws -> ForeignServer {
        let port = try LoopbackPort.free()
        let directory = try TestDirectory.certificates()
        let configuration = """
            daemon off; master_process off; worker_processes 1; pid \(directory.file("nginx.pid"));
            error_log \(directory.file("error.log")) warn;
            events { worker_connections 256; }
            http {
              log_format ids '\(format)';
              access_log \(logsPaths ? directory.file("access.log") + " ids" : "off");
              client_body_temp_path \(directory.file("body")); proxy_temp_path \(directory.file("proxy"));
              fastcgi_temp_path \(directory.file("fastcgi")); uwsgi_temp_path \(directory.file("uwsgi"));
              scgi_temp_path \(directory.file("scgi"));
              server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(directory.file("cert.pem")); ssl_certificate_key \(directory.file("key.pem"));
                client_max_body_size 100k; client_body_buffer_size 128k;
                \(server)
                location / { \(location) }
              }
            }
            """
        try configuration.write(toFile: directory.file("nginx.conf"), atomically: true, encoding: .utf8)
        return try ForeignServer(
            port: port, directory: directory, "/usr/sbin/nginx",
            ["-p", directory.path, "-e", directory.file("error.log"), "-c", directory.file("nginx.conf")])
    }

    /// The lines of its access log, once there are this many: nginx writes it after the answer.
    func log(lines count: Int) throws -> [String] {
        var lines: [String] = []
        for _ in 0..<3000 {
            let text = try String(contentsOfFile: directory.file("access.log"), encoding: .utf8)
            lines = text.split(separator: "\n").map(String.init)
            if lines.count >= count { break }
            LoopbackPort.pause()
        }
        return lines
    }
}

import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** More than any provider takes; a request beyond it is cut off. */
const LIMIT_BYTES = 64 * 1024 * 1024;

/** The whole body as text, decompressed as its header says. Rejects when the client goes away or sends too much. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LIMIT_BYTES) throw new RangeError(`request body over ${LIMIT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return decompress(Buffer.concat(chunks), request.headers['content-encoding']).toString('utf8');
}

function decompress(bytes: Buffer, encoding: string | undefined): Buffer {
  switch (encoding ?? 'identity') {
    case 'gzip':
      return gunzipSync(bytes);
    case 'deflate':
      return inflateSync(bytes);
    case 'br':
      return brotliDecompressSync(bytes);
    case 'zstd':
      return zstdDecompressSync(bytes);
    default:
      return bytes;
  }
}

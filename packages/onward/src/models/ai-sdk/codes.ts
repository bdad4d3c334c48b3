/**
 * Codes that a provider's error may carry inside a stream, where no status stands beside them, and the type they stand for. From
 * OpenAI's API reference (Responses, "error codes" of a failed response).
 */
const meanings: ReadonlyMap<string, string> = new Map([
  ...[
    'invalid_value',
    'invalid_type',
    'missing_required_parameter',
    'unsupported_parameter',
    'unsupported_value',
    'invalid_image',
    'invalid_image_format',
    'invalid_base64_image',
    'invalid_image_url',
    'invalid_image_mode',
    'image_too_large',
    'image_too_small',
    'image_parse_error',
    'image_file_too_large',
    'unsupported_image_media_type',
    'empty_image_file',
    'failed_to_download_image',
    'image_file_not_found',
  ].map((code) => [code, 'invalid_input'] as const),
  ['image_content_policy_violation', 'content_filter'],
  ['unsupported_country_region_territory', 'permission_error'],
  ['vector_store_timeout', 'timeout_error'],
]);

/** The type that a code stands for. */
export function typeOfCode(code: string | undefined): string | undefined {
  return code === undefined ? undefined : meanings.get(code);
}

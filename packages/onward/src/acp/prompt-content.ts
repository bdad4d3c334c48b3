import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk';
import type { UserContent } from '../agent/index.ts';

type Part = UserContent[number];

/** A client's prompt as the agent takes it. Throws the error for a client that sends what was not offered. */
export function promptContent(blocks: readonly ContentBlock[]): UserContent {
  const parts = blocks.map((block) => partOf(block));
  if (parts.every((part) => part.type === 'text' && part.text.trim() === ''))
    throw RequestError.invalidParams(undefined, 'the prompt is empty');
  return parts;
}

function partOf(block: ContentBlock): Part {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return { type: 'media', mediaType: block.mimeType, data: block.data };
    case 'resource_link':
      return { type: 'text', text: `[${block.name}](${block.uri})` };
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return { type: 'text', text: `Content of ${resource.uri}:\n${resource.text}` };
      return { type: 'media', mediaType: resource.mimeType ?? 'application/octet-stream', data: resource.blob };
    }
    case 'audio':
      throw RequestError.invalidParams(undefined, 'audio is not offered by this agent');
    default:
      throw RequestError.invalidParams(undefined, 'a block of an unknown type');
  }
}

/** A message of the history as content blocks, for replays. */
export function contentBlocks(content: UserContent): readonly ContentBlock[] {
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    if (/^[a-z]+:/i.test(part.data)) return { type: 'resource_link', name: part.mediaType, uri: part.data };
    if (part.mediaType.startsWith('image/')) return { type: 'image', mimeType: part.mediaType, data: part.data };
    return { type: 'text', text: `[${part.mediaType}]` };
  });
}

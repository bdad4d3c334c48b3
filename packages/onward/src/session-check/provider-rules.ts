/** What a provider demands of a history, as far as it differs between providers. */
export interface ProviderRules {
  /** Results open the message right after that of their calls; otherwise they only come after them. */
  readonly adjacent: boolean;
  /** The first message is the user's. */
  readonly userFirst: boolean;
  /** A text of white space alone is refused. */
  readonly textRequired: boolean;
  /** Thinking without its signature is refused. */
  readonly sealRequired: boolean;
  /** Of which origins sealed thinking without text is refused: all that begin so. */
  readonly thoughtRequired: string | undefined;
  /** The origin that the conversation goes on with; sealed thinking of others is refused. */
  readonly origin: string | undefined;
  /** Most characters of base64 of one image, and of any other file. */
  readonly imageSize: number;
  readonly fileSize: number;
  /** Most images in one request. */
  readonly images: number;
}

const MIB = 1024 * 1024;

/**
 * The Messages API (docs.anthropic.com, "Vision": 5 MB an image as sent, 100 images; "Errors": 32 MB a request; "Handle tool
 * use": results first, right after their calls; "Extended thinking": blocks unchanged, with their signature).
 */
export const anthropicRules: Omit<ProviderRules, 'origin'> = {
  adjacent: true,
  userFirst: true,
  textRequired: true,
  sealRequired: true,
  thoughtRequired: '',
  imageSize: 5 * MIB,
  fileSize: 32 * MIB,
  images: 100,
};

/** The Responses API (platform.openai.com, "Images and vision": 50 MB and 500 images a request; "Function calling"). */
export const responsesRules: Omit<ProviderRules, 'origin'> = {
  adjacent: false,
  userFirst: false,
  textRequired: false,
  sealRequired: false,
  thoughtRequired: undefined,
  imageSize: 50 * MIB,
  fileSize: 50 * MIB,
  images: 500,
};

/** Our own sessions go to any provider: what the strictest of them demands, except what our adapters see to. */
export const ownRules: Omit<ProviderRules, 'origin'> = {
  ...anthropicRules,
  userFirst: false,
  textRequired: false,
  sealRequired: false,
  thoughtRequired: 'anthropic/',
};

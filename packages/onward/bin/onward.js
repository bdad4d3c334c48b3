#!/usr/bin/env node
// Plain old JavaScript on purpose: it must parse on any Node, so that an old one gets a sentence instead of a stack trace.
var parts = process.versions.node.split('.');
var major = Number(parts[0]);
var minor = Number(parts[1]);
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    'onward needs Node 22.13 or newer; this is ' + process.version + '. Install a current Node and run it again.',
  );
  process.exit(2);
}
// Node 22 warns at every start that its SQLite is experimental; all other warnings stay.
var emitWarning = process.emitWarning;
process.emitWarning = function (warning, type) {
  if (type === 'ExperimentalWarning' && String(warning).indexOf('SQLite') === 0) return undefined;
  return emitWarning.apply(process, arguments);
};
import('../dist/cli/main.js').then(
  function (cli) {
    return cli.main(process.argv.slice(2));
  },
  function (error) {
    console.error(
      'onward could not load its own files: ' + error.message + '. In a checkout, run "npm run build" first.',
    );
    process.exit(2);
  },
);

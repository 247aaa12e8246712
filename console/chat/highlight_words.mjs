// Words of languages that highlight.mjs shows in a colour of their own.

const words = (text) => new Set(text.trim().split(/\s+/));

export const c_words = words(`
  break case char const continue default do double else enum extern float for goto if inline
  int long return short signed sizeof static struct switch typedef union unsigned void
  volatile while bool true false nullptr NULL auto class public private protected namespace
  template typename using virtual override final new delete this throw try catch operator
  constexpr noexcept co_await co_return co_yield concept requires explicit friend mutable
`);

export const js_words = words(`
  as async await break case catch class const continue debugger default delete do else enum
  export extends false finally for from function get if implements import in instanceof
  interface let new null of package private protected public readonly return set static super
  switch this throw true try type typeof undefined var void while with yield string number
  boolean any unknown never
`);

export const java_words = words(`
  abstract as bool boolean break byte case catch char class const continue decimal def default
  do double else enum extends extension false final finally float for foreach fun func get
  guard if implements import in init int interface internal is let lock long namespace new
  null object open out override package partial private protected protocol public readonly
  record ref return sealed self set short static string struct super suspend switch this throw
  throws trait true try typealias using val var virtual void when where while yield nil async
  await match
`);

export const go_words = words(`
  break case chan const continue default defer else fallthrough false for func go goto if
  import interface iota map nil package range return select struct switch true type var string
  int error int64 bool byte any
`);

export const rust_words = words(`
  as async await break const continue crate dyn else enum extern false fn for if impl in let
  loop match mod move mut pub ref return self Self static struct super trait true type unsafe
  use where while str u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool
`);

export const python_words = words(`
  and as assert async await break case class continue def del elif else except False finally
  for from global if import in is lambda match None nonlocal not or pass raise return True try
  while with yield self
`);

export const ruby_words = words(`
  alias and begin break case class def do else elsif end ensure false for if in module next
  nil not or redo rescue retry return self super then true undef unless until when while yield
  require attr_accessor local function repeat elseif my our sub use
`);

export const shell_words = words(`
  if then else elif fi for while until do done case esac in function select time return exit
  export local readonly set unset source echo cd sudo FROM RUN CMD COPY ADD ENV ARG WORKDIR
  EXPOSE ENTRYPOINT USER VOLUME LABEL
`);

export const sql_words = words(`
  add all alter and any as asc begin between by case cast check column commit constraint
  create cross database default delete desc distinct drop else end except exists explain false
  foreign from full function grant group having if in index inner insert intersect into is
  join key left like limit not null offset on or order outer primary references returning
  right rollback select set table then true union unique update using values view when where
  window with bigint boolean date integer jsonb numeric text timestamp timestamptz uuid
  varchar
`);
